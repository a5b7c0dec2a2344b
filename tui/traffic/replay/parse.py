"""The full reading of an answer, after it has ended."""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tui.traffic.http.sse import EventSplitter, event_data
from tui.traffic.replay.answer import Answer
from tui.traffic.replay.like import Like
from tui.traffic.replay.scan import content_of

_SLICE = 128  # events parsed before what came in gets its turn (about 0.1 ms)
_UNTIDY = b"\n\xef"  # a blank line or a byte order mark in front of an event
_WHOLE = 1 << 20  # the same for one who is in a hurry


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
        parsed = await _read(answer, answer.pieces, answer.cuts, patient)
    except _Untidy:
        events, ends, rest = _events(answer)
        parsed = await _read(answer, events, ends, patient)
        if rest:
            _last_event(parsed, answer, rest)
    return parsed


def _events(answer: Answer) -> tuple[list[bytes], list[int], bytes]:
    """All whole events, each with one empty line; up to which each read ended; and what came after them."""
    splitter, events, ends, start = EventSplitter(), [], [], 0
    for cut in answer.cuts:
        events += [event + b"\n\n" for event in splitter.feed(b"".join(answer.pieces[start:cut]))]
        ends.append(len(events))
        start = cut
    return events, ends, splitter.flush()


async def _read(answer: Answer, events: list[bytes], ends: Sequence[int], patient: bool) -> Parsed:
    reading = _Reading(answer, events)
    while reading.place < len(events):
        reading.go_on(_SLICE if patient else _WHOLE)
        if patient and reading.place < len(events):
            await asyncio.sleep(0)
    _times(reading.parsed, answer, ends, reading.has_content)
    return reading.parsed


class _Reading:
    """A walk over the events. Texts that follow each other in events that are else the same are taken at once."""

    def __init__(self, answer: Answer, events: list[bytes]) -> None:
        self.parsed = Parsed()
        self.has_content = bytearray()  # by event
        self.place = 0
        self._events = events
        self._shapes = answer.learned.shapes
        self._like: Like | None = None

    def go_on(self, most: int) -> None:
        """Read up to `most` events, and at least one; raises _Untidy."""
        stop = min(self.place + most, len(self._events))
        while self.place < stop:
            event = self._events[self.place]
            if self._like is not None and event.startswith(self._like.before):
                self._alike(self._like, self._events[self.place : stop])
                self.place = stop
            elif (found := self._shapes.like(event)) is not None:
                self._like = found
            else:
                if self._one(event):
                    self._shapes.learn(event[:-2])
                self.place += 1

    def _alike(self, like: Like, events: list[bytes]) -> None:
        """At once what can be; an answer's last events are others."""
        last: list[bytes] = []
        while events and not events[-1].endswith(like.end):
            last.append(events.pop())
        if events and not self._take(like, events):
            for event in events:
                if not (event.startswith(like.before) and self._take(like, [event])):
                    self._one(event)
        for event in reversed(last):
            self._one(event)

    def _take(self, like: Like, events: list[bytes]) -> bool:
        if (text := like.read(events)) is None:
            return False
        (self.parsed.reasoning if like.reasoning else self.parsed.text).append(text)
        self.parsed.events += len(events)
        self.has_content += b"\1" * len(events)
        return True

    def _one(self, event: bytes) -> bool:
        if event.find(b"\n\n") != len(event) - 2 or event[:1] in _UNTIDY or b"\r" in event:
            raise _Untidy
        found = _event(self.parsed, event[:-2])
        self.has_content.append(found)
        return found


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
