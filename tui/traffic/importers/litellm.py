"""LiteLLM: the callback's standard logging payload, and rows of its SpendLogs table."""

import json
from typing import Any

from tui.traffic.importers import chat_parts, check, reply, secrets
from tui.traffic.importers.clock import between
from tui.traffic.importers.format import Format, Rows, by_either
from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Skip, text, usage, whole
from tui.traffic.importers.sniff import Sniffed

_MARK = "(litellm_truncated"
_CALLS = {"completion": CHAT, "acompletion": CHAT, "text_completion": COMPLETIONS, "atext_completion": COMPLETIONS}
_UNSEEN = ("metadata", "user", "extra_headers", "api_key", "proxy_server_request", "litellm_params")
_FROM_CACHE = "answered from LiteLLM's own cache: it never reached the model"


def row(line: int, given: dict[str, Any]) -> Rows:
    call = given.get("call_type")
    path = _CALLS.get(str(call))
    if path is None:
        yield Skip(line, f"not a chat or completion call: {str(call)[:30]}")
        return
    body = _body(given, path)
    if body is None:
        yield Skip(line, "the prompt was not logged")
        return
    if _MARK in json.dumps(body, ensure_ascii=False):
        yield Skip(line, check.CUT, f"{check.CUT}: it holds LiteLLM's mark of text left out")
        return
    yield _found(line, given, path, body, whole(given.get("prompt_tokens")))


def _found(line: int, given: dict[str, Any], path: str, body: dict[str, Any], tokens: int | None) -> Found:
    begin = given.get("startTime")
    clean, redacted, held = secrets.clean(body)
    _, words = reply.of_object(chat_parts.unpacked(given.get("response")))
    failed = given.get("status") not in (None, "", "success")
    answered = reply.made(
        None, text=words, counts=usage(tokens, given.get("completion_tokens")),
        ttft_s=between(begin, given.get("completionStartTime")) if given.get("stream") else None,
        e2e_s=between(begin, given.get("endTime")),
    )  # fmt: skip
    return Found(
        line, path, clean, begin, text(given.get("request_id") or given.get("id")),
        text(given.get("session_id") or given.get("trace_id")), reply=answered, answer=words, redacted=redacted,
        credentials=held, failed=failed, output_tokens=whole(given.get("completion_tokens")),
        extra={"odd": _FROM_CACHE} if str(given.get("cache_hit")).lower() == "true" else None,
    )  # fmt: skip


def _body(given: dict[str, Any], path: str) -> dict[str, Any] | None:
    settings = chat_parts.unpacked(given.get("model_parameters"))
    settings = {k: v for k, v in settings.items() if k not in _UNSEEN} if isinstance(settings, dict) else {}
    named = {"model": given["model"]} if isinstance(given.get("model"), str) else {}
    prompt = chat_parts.unpacked(given.get("messages"))
    if prompt not in (None, "", [], {}):
        messages = chat_parts.messages(prompt)
        if path == COMPLETIONS and messages and len(messages) == 1 and isinstance(prompt, list):
            prompt = messages[0].get("content")  # it logs the text of a completion as the user's only message
        if path == COMPLETIONS:
            return {**named, "prompt": prompt, **settings} if isinstance(prompt, (str, list)) else None
        return {**named, "messages": messages, **settings} if messages else None
    sent = chat_parts.unpacked(given.get("proxy_server_request"))
    sent = sent.get("body", sent) if isinstance(sent, dict) else None
    if isinstance(sent, dict) and (sent.get("messages") or sent.get("prompt")):
        return {key: value for key, value in sent.items() if key not in ("api_key", "headers")}
    return None


def _matches(found: Sniffed) -> str | None:
    if {"call_type", "startTime"} <= set(found.columns):
        return "columns call_type and startTime"
    return "rows with call_type and startTime" if found.has("call_type", "startTime") else None


LITELLM = Format("litellm", "LiteLLM log", _matches, by_either(row), links_by_answer=True)
