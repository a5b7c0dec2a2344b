"""OpenAI's files: Batch JSONL (also with times, sessions and answers), fine-tune JSONL, and bare request bodies."""

import json
from typing import Any

from tui.traffic.importers import check, reply, secrets
from tui.traffic.importers.format import Format, Rows, by_object
from tui.traffic.importers.found import CHAT, Found, Skip, text, whole
from tui.traffic.importers.sniff import Sniffed

_TIMES = ("timestamp", "recorded_at", "created_at", "at", "time")
_NO_TEXT_CALL = "not a chat or completion call"


def batch_row(line: int, row: dict[str, Any]) -> Rows:
    body = row.get("body")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            yield Skip(line, "the body is text that is not JSON")
            return
    if not isinstance(body, dict):
        what = "no body" if body is None else "a body that is no object"
        yield Skip(line, what)
        return
    method, url = row.get("method"), row.get("url")
    if isinstance(method, str) and method.upper() != "POST":
        yield Skip(line, f"not a POST: {method[:10].upper()}")
        return
    path = check.path_of(url, body)
    if path is None:
        yield Skip(line, _NO_TEXT_CALL, f"{_NO_TEXT_CALL}: {str(url).split('?')[0][-40:]}")
        return
    held = secrets.of_headers(row.get("headers"), url if isinstance(url, str) else "")
    stamp = next((row[key] for key in _TIMES if key in row), None)
    clean, redacted, own = secrets.clean(body)
    found = Found(line, path, clean, stamp, text(row.get("custom_id")), text(row.get("session_id")),
                  redacted=redacted, credentials=held | own)  # fmt: skip
    _answer(found, row)
    yield found


def _answer(found: Found, row: dict[str, Any]) -> None:
    """The answer, from the output file's `response` or from plain keys."""
    response = row.get("response")
    if isinstance(response, dict):
        status = whole(response.get("status_code"))
        found.reply, found.answer = reply.of_object(response.get("body", response), status)
    elif isinstance(row.get("recorded_output"), str):
        found.answer = row["recorded_output"]
        found.reply = reply.made(None, text=found.answer)
    found.output_tokens = whole(row.get("recorded_output_tokens")) or reply.completion_tokens(found.reply)
    found.failed = (found.reply or {}).get("status", 200) >= 400 or bool(row.get("error"))


def finetune_row(line: int, row: dict[str, Any]) -> Rows:
    """Each assistant turn is a request: what came before it, with its text as the answer."""
    messages = row.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        yield Skip(line, "no messages")
        return
    session, asked = f"line {line}", False
    rest = {key: row[key] for key in ("tools", "functions", "parallel_tool_calls") if row.get(key)}
    requests = 0
    for place, message in enumerate(messages):
        if message.get("role") == "assistant" and asked:
            content = message.get("content")
            answer = content if isinstance(content, str) else None
            requests += 1
            yield Found(line, CHAT, {"messages": messages[:place], **rest}, session=session, answer=answer,
                        reply=reply.made(None, text=answer))  # fmt: skip
        asked = asked or message.get("role") in ("user", "developer")
    if messages[-1].get("role") == "user":
        requests += 1
        yield Found(line, CHAT, {"messages": messages, **rest}, session=session)
    if not requests:
        yield Skip(line, "no user turn before an answer")


def body_row(line: int, row: dict[str, Any]) -> Rows:
    """A request's body as it was sent, without anything around it."""
    path = check.path_of(None, row)
    if path is None:
        yield Skip(line, "neither messages nor a prompt")
        return
    clean, redacted, held = secrets.clean(row)
    stamp = next((clean.pop(key) for key in _TIMES if key in clean), None)
    yield Found(line, path, clean, stamp, redacted=redacted, credentials=held)


def _is_batch(found: Sniffed) -> str | None:
    if found.share("body") >= 0.5 and (
        found.has("custom_id") or found.has("body", "url") or found.has("body", "timestamp")
    ):
        return "rows with custom_id, url and body"
    return "rows with custom_id and url" if not found.objects and found.has("custom_id", "url") else None


def _is_finetune(found: Sniffed) -> str | None:
    rows = [row for row in found.objects if isinstance(row.get("messages"), list)]
    ends = [row for row in rows if row["messages"] and isinstance(row["messages"][-1], dict)
            and row["messages"][-1].get("role") == "assistant"]  # fmt: skip
    # A body that was sent names its model or its settings, and may end with the beginning of an answer.
    sent = {"model", "max_tokens", "max_completion_tokens", "temperature", "stream", *_TIMES}
    if rows and len(ends) * 2 >= len(rows) and not any(sent & set(row) for row in rows):
        return "conversations that end with an assistant's turn"
    return None


def _is_body(found: Sniffed) -> str | None:
    if found.share("messages") >= 0.5 and not found.has("conversation_id", "input"):
        return "request bodies with messages"
    if found.share("prompt") >= 0.5 and (found.has("prompt", "max_tokens") or found.has("prompt", "model")):
        return "request bodies with a prompt"
    return None


BATCH = Format("openai-batch", "OpenAI Batch input, one request a line", _is_batch, by_object(batch_row), chain=True)
FINETUNE = Format("openai-finetune", "OpenAI chat fine-tuning file", _is_finetune, by_object(finetune_row), chain=True)
BODY = Format("aiperf-raw", "bare request bodies (aiperf raw_payload)", _is_body, by_object(body_row))
