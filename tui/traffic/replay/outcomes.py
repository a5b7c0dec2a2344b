"""From an answer to its Outcome."""

import hashlib
import json
import re
from dataclasses import dataclass
from operator import sub
from typing import Any, Literal

from tui.traffic.http.parser import ResponseParser
from tui.traffic.outcome import Outcome
from tui.traffic.recording import Request
from tui.traffic.replay.answer import Answer
from tui.traffic.replay.parse import Parsed, error_words, one_line, parse, read_object

Status = Literal["ok", "failed", "cancelled"]
TOO_LONG = "context too long"
# vLLM's and OpenAI's words for it over their versions.
_BEYOND = re.compile(r"maximum (?:context|model) length|context_length_exceeded|reduce the length of", re.I)
_NS = 1e9


@dataclass(slots=True)
class Ending:
    """How an exchange ended: with a whole answer (`head`), or with `kind` and `words`."""

    ended_ns: int
    head: ResponseParser | None = None
    kind: str | None = None
    words: str | None = None
    cancelled: bool = False
    retried: int = 0  # times it was sent again because the server was busy


async def settle(
    request: Request,
    answer: Answer,
    ending: Ending,
    *,
    origin_ns: int,
    due_ns: int,
    connect_s: float | None,
    keep_text: bool,
    patient: bool = True,
) -> tuple[Outcome, str]:
    """The outcome, and the answer's text (which the outcome has only if `keep_text`). Times count from `origin_ns`."""
    parsed = await parse(answer, patient)
    head = ending.head
    whole = head is not None and not parsed.events and _is_json(head)
    if whole:
        _read_whole(parsed, answer, ending.ended_ns)
    status, kind, words = _judge(parsed, ending, answer)
    text, words_kept = _words(parsed, status == "ok", keep_text)
    outcome = Outcome(
        id=request.id,
        group=request.group,
        status=status,
        due_s=_seconds(due_ns, origin_ns),
        sent_s=None if answer.sent is None else _seconds(answer.sent, origin_ns),
        connect_s=connect_s,
        e2e_s=_seconds(parsed.content_ns[-1], due_ns) if parsed.content_ns else None,
        finish_reason=parsed.finish_reason,
        http_status=head.status if head else None,
        error_kind=kind,
        error=words,
        retried=ending.retried or None,
        **_chunks(parsed, [] if whole else parsed.content_ns, due_ns),
        **words_kept,
        **_usage(parsed.usage or {}),
        **_engine(parsed.metrics or {}),
    )
    return outcome, text


def _chunks(parsed: Parsed, stamps: list[int], due_ns: int) -> dict[str, Any]:
    """What the times of the content events say; nothing for an answer that came whole."""
    gaps = map(sub, stamps[1:], stamps)
    return {
        "ttft_s": _seconds(stamps[0], due_ns) if stamps else None,
        "decode_s": _seconds(stamps[-1], stamps[0]) if stamps else None,
        "chunks": len(stamps),
        "coalesced": parsed.coalesced,
        "itl_s": tuple([(gap + 50) // 100 / 1e7 if gap else 0.0 for gap in gaps]),  # as `_seconds` rounds, in less time
    }


def _words(parsed: Parsed, ok: bool, keep: bool) -> tuple[str, dict[str, Any]]:
    text, reasoning = _sound("".join(parsed.text)), _sound("".join(parsed.reasoning))
    kept = {
        "text": text if keep and (text or ok) else None,
        "reasoning": reasoning if keep and reasoning else None,
        "tool_calls": parsed.tool_calls if keep else None,
        "text_sha256": _digest(reasoning, text, parsed.tool_calls) if ok else None,
    }
    return text, kept


def _digest(*parts: str | None) -> str:
    return hashlib.sha256("".join(part or "" for part in parts).encode()).hexdigest()


def _seconds(later: int, earlier: int) -> float:
    return round((later - earlier) / _NS, 7)


def _is_json(head: ResponseParser) -> bool:
    return "json" in head.headers.get("content-type", "") and 200 <= (head.status or 0) < 300


def _read_whole(parsed: Parsed, answer: Answer, ended_ns: int) -> None:
    try:
        row = json.loads(answer.body)
    except ValueError as error:
        parsed.broken = f"the answer is not JSON: {error}"
        return
    if isinstance(row, dict):
        if read_object(parsed, row):
            parsed.content_ns.append(ended_ns)
        parsed.done = True


def _judge(parsed: Parsed, ending: Ending, answer: Answer) -> tuple[Status, str | None, str | None]:
    """Status, error kind, the words of whoever said so."""
    if ending.cancelled:
        return "cancelled", None, None
    if ending.kind:
        return "failed", ending.kind, ending.words
    head = ending.head
    assert head is not None and head.status is not None
    if not 200 <= head.status < 300:
        return "failed", *_refusal(head, answer, ending.retried)
    if parsed.error:
        return "failed", "stream error", parsed.error
    if parsed.broken:
        return "failed", "protocol", one_line(parsed.broken)
    if parsed.finish_reason in ("abort", "error"):
        return "failed", "stream error", f"the engine ended the answer with {parsed.finish_reason!r}"
    if not parsed.events and not parsed.done:
        kind = head.headers.get("content-type", "nothing")
        return "failed", "protocol", one_line(f"neither an event stream nor JSON, but {kind}")
    if not parsed.done and parsed.finish_reason is None:
        return "failed", "cut short", "the answer ended without [DONE] and without a finish reason"
    return "ok", None, None


def _refusal(head: ResponseParser, answer: Answer, retried: int) -> tuple[str, str | None]:
    """Kind and words of an answer that is none: a prompt beyond the context is a kind of its own, whatever its code."""
    words = _body_words(answer) or one_line(head.reason)
    kind = TOO_LONG if head.status in (400, 413, 422) and _BEYOND.search(words) else f"http {head.status}"
    told = [f"Retry-After: {one_line(wait, 40)}"] if (wait := head.headers.get("retry-after")) else []
    if retried:
        told.append(f"sent again {retried} x")
    return kind, f"{words} ({', '.join(told)})" if told else words or None


def _body_words(answer: Answer) -> str:
    body = answer.body[:65536]
    try:
        row = json.loads(body)
    except ValueError:
        return one_line(body.decode("utf-8", "replace"))
    return error_words(row) if isinstance(row, dict) else one_line(body.decode("utf-8", "replace"))


def _sound(text: str) -> str:
    """Join surrogate pairs that came in two chunks; what stays alone cannot be written and becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _counts(value: object) -> tuple[int, ...]:
    counts = [_count(each) for each in value] if isinstance(value, list) else []
    return () if None in counts else tuple(counts)  # type: ignore[arg-type]


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    details = usage.get("prompt_tokens_details")
    return {
        "prompt_tokens": _count(usage.get("prompt_tokens")),
        "output_tokens": _count(usage.get("completion_tokens")),
        "cached_tokens": _count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    }


def _engine(metrics: dict[str, Any]) -> dict[str, Any]:
    """vLLM's `metrics` object (--enable-per-request-metrics); its times are milliseconds."""

    def ms(key: str) -> float | None:
        value = metrics.get(key)
        return value / 1000 if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    speculation = metrics.get("speculative_decoding")
    spec = speculation if isinstance(speculation, dict) else {}
    return {
        "server_queue_s": ms("queue_time_ms"),
        "server_prefill_s": ms("time_to_first_token_ms"),
        "server_decode_s": ms("generation_time_ms"),
        "drafts": _count(spec.get("num_spec_steps")),
        "draft_tokens": _count(spec.get("num_draft_tokens")),
        "accepted_tokens": _count(spec.get("num_accepted_draft_tokens")),
        "acceptance_histogram": _counts(spec.get("acceptance_histogram")),
    }
