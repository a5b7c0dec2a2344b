"""Traces of lengths and hash ids: Mooncake and what follows it (aiperf, guidellm, vllm bench), Bailian."""

import json
from typing import Any

from tui.traffic.importers import blocks, check, secrets
from tui.traffic.importers.clock import MS_APART_WITH_FRACTION
from tui.traffic.importers.format import Format, Rows, by_object
from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Made, Skip, text, whole
from tui.traffic.importers.sniff import Sniffed

MOONCAKE_BLOCK = 512
VLLM_BLOCK = 16
LONGEST = 20_000_000  # tokens; more is a broken number, not a prompt


def made_request(line: int, row: dict[str, Any], prompt: object, output: object, **more: Any) -> Found | Skip:
    """A request of which only lengths are known; an unknown output length stays unknown."""
    tokens, answer = whole(prompt), whole(output)
    if tokens is None:
        return Skip(
            line, "the prompt's length is not a count of tokens", f"the prompt's length is {str(prompt)[:30]!r}"
        )
    if output not in (None, "") and answer is None:
        return Skip(
            line, "the output's length is not a count of tokens", f"the output's length is {str(output)[:30]!r}"
        )
    if tokens > LONGEST or (answer or 0) > LONGEST:
        return Skip(line, f"over {LONGEST:,} tokens", f"{max(tokens, answer or 0):.3g} tokens")
    if tokens == 0:
        return Skip(line, "a prompt of 0 tokens")
    ids = row.get("hash_ids")
    if ids is not None and not _sound(ids):
        return Skip(line, "hash ids that are not whole numbers of 0 or more")
    known = tuple(ids) if isinstance(ids, list) and ids else None
    body: dict[str, Any] = {"max_tokens": max(1, answer)} if answer is not None else {}
    if answer is not None:
        body["ignore_eos"] = True
    return Found(line, COMPLETIONS, body, output_tokens=answer, made=Made(tokens, known), failed=answer == 0, **more)


def _sound(ids: object) -> bool:
    return isinstance(ids, list) and all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in ids)


def mooncake_row(line: int, row: dict[str, Any]) -> Rows:
    """Mooncake's own rows, and aiperf's superset with texts, messages and whole payloads."""
    delay = row.get("delay")
    think = delay / 1000 if isinstance(delay, (int, float)) and not isinstance(delay, bool) and delay >= 0 else None
    common: dict[str, Any] = {"stamp": row.get("timestamp"), "session": text(row.get("session_id")), "think_s": think}
    if "input_length" in row:
        yield made_request(line, row, row["input_length"], row.get("output_length"), **common)
        return
    payload = row.get("payload")
    if isinstance(payload, str):
        try:
            payload = json.loads(payload)
        except (ValueError, RecursionError):
            payload = None
    body = payload if isinstance(payload, dict) else _text_body(row)
    path = check.path_of(None, body or {})
    if body is None or path is None:
        yield Skip(line, "no input_length, text_input, messages or payload")
        return
    clean, redacted, held = secrets.clean(body)
    length = whole(row.get("output_length"))
    extra = row.get("extra")
    if isinstance(extra, dict):
        clean = {**clean, **secrets.clean(extra)[0]}
    yield Found(line, path, clean, redacted=redacted, credentials=held, output_tokens=length, **common)


def _text_body(row: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(row.get("messages"), list):
        return {"messages": row["messages"], **({"tools": row["tools"]} if row.get("tools") else {})}
    words = row.get("text_input")
    return {"messages": [{"role": "user", "content": words}]} if isinstance(words, str) else None


def seconds_row(line: int, row: dict[str, Any]) -> Rows:
    yield made_request(line, row, row.get("input_length"), row.get("output_length"), stamp=row.get("timestamp"),
                       session=text(row.get("session_id")))  # fmt: skip


def bailian_row(line: int, row: dict[str, Any]) -> Rows:
    parent = row.get("parent_chat_id")
    kind = row.get("type")
    yield made_request(
        line, row, row.get("input_length"), row.get("output_length"), stamp=row.get("timestamp"),
        id=text(row.get("chat_id")), parent=None if parent in (-1, None, "-1") else text(parent),
        group=kind if isinstance(kind, str) else None,
    )  # fmt: skip


def _trace_rows(found: Sniffed) -> list[dict[str, Any]]:
    return [row for row in found.objects if "input_length" in row and "chat_id" not in row]


def _in_seconds(rows: list[dict[str, Any]]) -> bool:
    """Whether the times have fractions, and are no milliseconds with fractions, which are far apart as numbers."""
    times = [t for row in rows if isinstance(t := row.get("timestamp"), (int, float)) and t == t]
    apart = (max(times) - min(times)) / max(1, len(times) - 1) if times else 0
    return apart < MS_APART_WITH_FRACTION and any(isinstance(t, float) and t != t // 1 for t in times)


def _covers(rows: list[dict[str, Any]], block: int) -> bool:
    """Whether most rows with ids have as many as blocks of this size would need."""
    sound = [r for r in rows if r.get("hash_ids") and _sound(r["hash_ids"]) and whole(r["input_length"])]
    fitting = sum(blocks.fits(Made(whole(r["input_length"]) or 0, tuple(r["hash_ids"])), block) for r in sound)
    return bool(sound) and fitting * 2 > len(sound)


def _is_mooncake(found: Sniffed) -> str | None:
    modes = found.share("input_length", "text_input", "payload", "messages")
    rows = _trace_rows(found)
    if rows and modes > 0.5 and not _in_seconds(rows) and not _covers(rows, VLLM_BLOCK):
        return "rows of input_length and output_length at times in whole milliseconds"
    if found.has("text_input") or found.has("payload", "timestamp"):
        return "rows with text_input or payload"
    if found.has("messages", "timestamp") and found.has("messages", "output_length"):
        return "rows of messages with times and output_length"
    return None


def _is_timed(found: Sniffed) -> str | None:
    rows = _trace_rows(found)
    if rows and (_covers(rows, VLLM_BLOCK) or (_in_seconds(rows) and found.has("hash_ids"))):
        return f"rows with hash ids of {VLLM_BLOCK} tokens, or with times in seconds"
    return None


def _is_guidellm(found: Sniffed) -> str | None:
    rows = _trace_rows(found)
    return "rows of lengths at times in seconds" if rows and _in_seconds(rows) else None


def _is_bailian(found: Sniffed) -> str | None:
    return "rows with chat_id and parent_chat_id" if found.has("chat_id", "parent_chat_id", "input_length") else None


BAILIAN = Format("bailian", "Bailian (Qwen) usage trace", _is_bailian, by_object(bailian_row), "s", block=16)
TIMED = Format("timed-trace", "vllm bench timed_trace", _is_timed, by_object(seconds_row), block=VLLM_BLOCK)
GUIDELLM_TRACE = Format("guidellm-trace", "guidellm trace of lengths", _is_guidellm, by_object(seconds_row), "s",
                        block=MOONCAKE_BLOCK)  # fmt: skip
MOONCAKE = Format("mooncake", "Mooncake trace, also aiperf's fixed schedules", _is_mooncake, by_object(mooncake_row),
                  "ms", chain=True, block=MOONCAKE_BLOCK)  # fmt: skip

__all__ = ["BAILIAN", "CHAT", "GUIDELLM_TRACE", "MOONCAKE", "TIMED", "made_request"]
