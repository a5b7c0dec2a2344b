"""The full reading of an answer, after it has ended."""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tui.traffic.http.sse import EventSplitter, event_data
from tui.traffic.replay.answer import Answer, Texts
from tui.traffic.replay.scan import content_of

_SLICE = 32  # events parsed before what came in gets its turn (about 0.1 ms)
_UNTIDY = b"\n\xef"  # a blank line or a byte order mark in front of an event


@dataclass(slots=True)
class Parsed:
    """The full reading of an answer. `content_ns` has the time of every content event.

    `coalesced` counts those whose time is only an upper bound: one read gave several, or came late.
    """

    content_ns: list[int] = field(default_factory=list)
    coalesced: int = 0
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


class _Untidy(Exception):
    """A piece is not one event with one empty line."""


async def parse(answer: Answer, patient: bool = True) -> Parsed:
    """Parse every event of a streamed answer; checks the byte scan by it. A patient one gives way to the loop."""
    try:
        parsed = await _read(answer, answer.items, answer.cuts, patient)
    except _Untidy:
        items, ends, rest = _events(answer)
        parsed = await _read(answer, items, ends, patient)
        if rest:
            _last_event(parsed, answer, rest)
    return parsed


def _events(answer: Answer) -> tuple[list[bytes | Texts], list[int], bytes]:
    """The same items with whole events, each with one empty line, in place of pieces; up to which of them, counting
    every event of a run, each read ended; and what came after them."""
    splitter, items, ends, at = EventSplitter(), [], [], 0  # `at` counts pieces and events of runs, as cuts do
    counts: list[tuple[int, int]] = []  # (at, events up to there)
    events = 0
    for item in answer.items:
        if isinstance(item, Texts):
            items.append(item)
            counts.append((at, events))
            at, events = at + item.events, events + item.events
        else:
            found = [event + b"\n\n" for event in splitter.feed(item)]
            items += found
            at, events = at + 1, events + len(found)
        counts.append((at, events))
    marks = iter(counts)
    last = (0, 0)
    for cut in answer.cuts:
        while last[0] < cut:
            last = next(marks)
        # A cut within a run: each of its pieces is an event.
        ends.append(last[1] - (last[0] - cut))
    return items, ends, splitter.flush()


async def _read(answer: Answer, items: list[bytes | Texts], ends: Sequence[int], patient: bool) -> Parsed:
    parsed, has_content, done = Parsed(), bytearray(), 0
    for item in items:
        if isinstance(item, Texts):
            (parsed.reasoning if item.reasoning else parsed.text).extend(item.texts)
            parsed.events += item.events
            has_content += b"\1" * item.events
            continue
        if item.find(b"\n\n") != len(item) - 2 or item[:1] in _UNTIDY or b"\r" in item:
            raise _Untidy
        has_content.append(_event(parsed, item[:-2]))
        done += 1
        if patient and not done % _SLICE:
            await asyncio.sleep(0)
    _times(parsed, answer, ends, has_content)
    return parsed


def _times(parsed: Parsed, answer: Answer, ends: Sequence[int], has_content: bytearray) -> None:
    """The time of every event with content, and whether the byte scan had counted them and seen the first."""
    start = 0
    for number, end in enumerate(ends):
        if got := has_content.count(1, start, end):
            parsed.content_ns.extend((answer.stamps[number],) * got)
            if got > 1 or number in answer.late:
                parsed.coalesced += got
        start = end
    answer.missed = abs(len(parsed.content_ns) - answer.chunks)
    if not answer.missed and parsed.content_ns and parsed.content_ns[0] != answer.first:
        answer.missed = 1


def _last_event(parsed: Parsed, answer: Answer, rest: bytes) -> None:
    """What came after the last empty line counts only if it is whole: the answer may have been cut right there."""
    data = event_data(rest)
    if data is None:
        return
    with contextlib.suppress(ValueError):
        if data.strip() != b"[DONE]":
            json.loads(data)
        if _event(parsed, rest):
            parsed.content_ns.append(answer.last)


def _event(parsed: Parsed, event: bytes) -> bool:
    """Take in one event; True when it has content."""
    data = event_data(event)
    if data is None:
        return False
    parsed.events += 1
    if data.strip() == b"[DONE]":
        parsed.done = True
        return False
    try:
        row = json.loads(data.decode("utf-8", "surrogatepass"))  # of bytes it would first guess the encoding
    except ValueError as error:
        parsed.broken = parsed.broken or f"an event is not JSON: {error}"
        return False
    return isinstance(row, dict) and read_object(parsed, row)


def read_object(parsed: Parsed, row: dict[str, Any]) -> bool:
    """Take in one chunk, or a whole answer that was not streamed; True when it has content."""
    if row.get("error") or row.get("object") == "error":
        parsed.error = parsed.error or error_words(row)
        return False
    # The usage chunk has no choices, so it is read before they are looked at.
    if isinstance(usage := row.get("usage"), dict):
        parsed.usage = usage
    if isinstance(metrics := row.get("metrics"), dict):
        parsed.metrics = metrics
    found = False
    for choice in row.get("choices") or ():
        if isinstance(choice, dict):
            found = _choice(parsed, choice) or found
    return found


def _choice(parsed: Parsed, choice: dict[str, Any]) -> bool:
    if choice.get("finish_reason"):
        parsed.finish_reason = str(choice["finish_reason"])
    part = choice.get("delta") or choice.get("message") or {}
    if not choice.get("index"):  # of several choices the first one's text is kept
        text = part.get("content") if part else choice.get("text")
        reasoning = part.get("reasoning") or part.get("reasoning_content")
        if isinstance(text, str):
            parsed.text.append(text)
        if isinstance(reasoning, str):
            parsed.reasoning.append(reasoning)
        for position, call in enumerate(part.get("tool_calls") or []):
            _call(parsed, call, position)
    return content_of(choice)


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
