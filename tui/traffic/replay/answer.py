"""What an answer holds: a byte scan while it comes, a full parse after it has ended."""

import asyncio
import contextlib
import json
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tui.traffic.http.sse import EventSplitter, event_data

# Non-empty text, reasoning or a tool call, in chat or plain completions. A quote inside a JSON string is escaped, so
# `"content"` with bare quotes is always a key.
_CONTENT = re.compile(rb'"(?:content|reasoning|reasoning_content|text)"\s*:\s*"[^"]|"tool_calls"\s*:\s*\[\s*\{')
_SLICE = 64  # events parsed before other answers get their turn (about 0.3 ms)


class Answer:
    """Collects one answer in the hot path: its events, and when the read that ended each came (CLOCK_MONOTONIC ns)."""

    __slots__ = (
        "chunks", "events", "first", "kernel_reads", "last", "on_content", "sent", "splitter", "stamps", "user_reads"
    )  # fmt: skip

    def __init__(self, on_content: Callable[[int], None]) -> None:
        self.splitter = EventSplitter()
        self.events: list[bytes] = []
        self.stamps = array("q")
        self.sent: int | None = None
        self.first: int | None = None
        self.last = 0
        self.chunks = 0
        self.kernel_reads = self.user_reads = 0
        self.on_content = on_content  # told the number of content events of each read

    def on_sent(self, at: int) -> None:
        self.sent = at

    def on_body(self, data: bytes, at: int, kernel: bool) -> None:
        if kernel:
            self.kernel_reads += 1
        else:
            self.user_reads += 1
        self.last = at
        found = 0
        search = _CONTENT.search
        for event in self.splitter.feed(data):
            self.events.append(event)
            self.stamps.append(at)
            if search(event):
                found += 1
        if found:
            if self.first is None:
                self.first = at
            self.chunks += found
            self.on_content(found)


@dataclass(slots=True)
class Parsed:
    """The full reading of an answer. `content_ns` has the time of every content event."""

    content_ns: list[int] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    error: str | None = None
    done: bool = False
    events: int = 0
    broken: str | None = None

    @property
    def tool_calls(self) -> str | None:
        return json.dumps([self.calls[i] for i in sorted(self.calls)]) if self.calls else None


async def parse(answer: Answer) -> Parsed:
    """Parse every event of a streamed answer, giving way to the loop between slices."""
    parsed = Parsed()
    for index, event in enumerate(answer.events):
        _event(parsed, event, answer.stamps[index])
        if index % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
    if rest := answer.splitter.flush():
        _last_event(parsed, answer, rest)
    return parsed


def _last_event(parsed: Parsed, answer: Answer, rest: bytes) -> None:
    """What came after the last empty line counts only if it is whole: the answer may have been cut right there."""
    answer.events.append(rest)
    data = event_data(rest)
    if data is None:
        return
    with contextlib.suppress(ValueError):
        if data.strip() != b"[DONE]":
            json.loads(data)
        _event(parsed, rest, answer.last)


def _event(parsed: Parsed, event: bytes, at: int) -> None:
    data = event_data(event)
    if data is None:
        return
    parsed.events += 1
    if data.strip() == b"[DONE]":
        parsed.done = True
        return
    try:
        row = json.loads(data)
    except ValueError as error:
        parsed.broken = parsed.broken or f"an event is not JSON: {error}"
        return
    if isinstance(row, dict):
        read_object(parsed, row, at)


def read_object(parsed: Parsed, row: dict[str, Any], at: int) -> None:
    """Take in one chunk, or a whole answer that was not streamed."""
    if row.get("error") or row.get("object") == "error":
        parsed.error = parsed.error or error_words(row)
        return
    # The usage chunk has no choices, so it is read before they are looked at.
    if isinstance(usage := row.get("usage"), dict):
        parsed.usage = usage
    if isinstance(metrics := row.get("metrics"), dict):
        parsed.metrics = metrics
    found = False
    for choice in row.get("choices") or ():
        if isinstance(choice, dict):
            found = _choice(parsed, choice) or found
    if found:
        parsed.content_ns.append(at)


def _choice(parsed: Parsed, choice: dict[str, Any]) -> bool:
    if choice.get("finish_reason"):
        parsed.finish_reason = str(choice["finish_reason"])
    part = choice.get("delta") or choice.get("message") or {}
    text = part.get("content") if part else choice.get("text")
    reasoning = part.get("reasoning") or part.get("reasoning_content")
    calls = part.get("tool_calls") or []
    if not choice.get("index"):  # of several choices the first one's text is kept
        if isinstance(text, str):
            parsed.text.append(text)
        if isinstance(reasoning, str):
            parsed.reasoning.append(reasoning)
        for position, call in enumerate(calls):
            _call(parsed, call, position)
    return bool(text or reasoning or calls)


def _call(parsed: Parsed, call: dict[str, Any], position: int) -> None:
    function = call.get("function") or {}
    known = parsed.calls.setdefault(int(call.get("index", position)), {"name": "", "arguments": ""})
    known["name"] += function.get("name") or ""
    known["arguments"] += function.get("arguments") or ""


def error_words(row: dict[str, Any]) -> str:
    """The server's own words in an error object, old or new form."""
    inner = row.get("error")
    if isinstance(inner, dict):
        return one_line(str(inner.get("message") or json.dumps(inner)))
    return one_line(str(inner or row.get("message") or row.get("detail") or json.dumps(row)))


def one_line(text: str, limit: int = 500) -> str:
    """Text from outside on one line, without control codes."""
    words = " ".join(text[: 4 * limit].split())
    return "".join(c if c.isprintable() else "?" for c in words)[:limit]
