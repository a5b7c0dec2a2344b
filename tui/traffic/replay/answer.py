"""What an answer holds: a byte scan while it comes, a full parse after it has ended."""

import asyncio
import contextlib
import json
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any

from tui.traffic.http.sse import EventSplitter, event_data
from tui.traffic.replay.like import Like
from tui.traffic.replay.scan import ContentScan, content_of

_SLICE = 32  # events parsed before what came in gets its turn (about 0.1 ms)
LATE_NS = 1_000_000  # read this long after the kernel had it: what came meanwhile may hide in one stamp


class Answer:
    """Collects one answer in the hot path: its events, and when the reads came that ended them (CLOCK_MONOTONIC ns).

    Read number i came at ``stamps[i]`` and ended the events up to ``ends[i]``; `late` has the numbers of reads that
    came over LATE_NS after the kernel's stamp.
    """

    __slots__ = (
        "chunks", "ends", "events", "first", "kernel_reads", "last", "late", "missed", "on_content", "scan", "sent",
        "splitter", "stamps", "user_reads",
    )  # fmt: skip

    def __init__(self, on_content: Callable[[int], None], scan: ContentScan | None = None) -> None:
        self.on_content = on_content  # told the number of content events of each read
        self.scan = scan or ContentScan()
        self.sent: int | None = None
        self.kernel_reads = self.user_reads = 0
        self.restart()

    def restart(self) -> None:
        """Forget what came: the request is sent again."""
        self.splitter = EventSplitter()
        self.events: list[bytes] = []
        self.stamps, self.ends = array("q"), array("q")
        self.late: set[int] = set()
        self.first: int | None = None
        self.last = self.chunks = self.missed = 0

    def on_sent(self, at: int) -> None:
        if self.sent is None:
            self.sent = at

    def on_body(self, data: bytes, at: int, kernel: bool) -> None:
        late = False
        if kernel:
            self.kernel_reads += 1
            late = monotonic_ns() - at > LATE_NS
        else:
            self.user_reads += 1
        self.last = at
        events = self.splitter.feed(data)
        if not events:
            return
        if late:
            self.late.add(len(self.ends))
        self.events += events
        self.stamps.append(at)
        self.ends.append(len(self.events))
        found = self.scan.count(events)
        if found:
            if self.first is None:
                self.first = at
            self.chunks += found
            self.on_content(found)


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


async def parse(answer: Answer, patient: bool = True) -> Parsed:
    """Parse every event of a streamed answer; checks the byte scan by it. A patient one gives way to the loop."""
    parsed, like = Parsed(), Like(len(answer.events))
    events = answer.events
    has_content = bytearray(len(events))
    for start in range(0, len(events), _SLICE):
        block = events[start : start + _SLICE]
        if _alike(parsed, like, block):
            has_content[start : start + len(block)] = b"\1" * len(block)
        else:
            for index, event in enumerate(block, start):
                if not (found := _alike(parsed, like, [event])) and (found := _event(parsed, event)):
                    like.learn(event)
                has_content[index] = found
        if patient:
            await asyncio.sleep(0)
    _times(parsed, answer, has_content)
    if rest := answer.splitter.flush():
        _last_event(parsed, answer, rest)
    return parsed


def _alike(parsed: Parsed, like: Like, events: list[bytes]) -> bool:
    """Take in events that say nothing but a text, as one before them did; False where one is no such event."""
    text = like.read(events)
    if text is None:
        return False
    (parsed.reasoning if like.reasoning else parsed.text).append(text)
    parsed.events += len(events)
    return True


def _times(parsed: Parsed, answer: Answer, has_content: bytearray) -> None:
    """The time of every event with content, and whether the byte scan had counted them and seen the first."""
    start = 0
    for number, end in enumerate(answer.ends):
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
    answer.events.append(rest)
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
        row = json.loads(data)
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
