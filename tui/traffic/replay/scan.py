"""Which events of an answer have content, told by their bytes while they come."""

import json
import re

from tui.traffic.http.sse import event_data

MOST_MARKS = 8
_MOST_TAILS = 64
_NOTHING = (b'"', b"")
# A quote inside a JSON string is escaped, so a key with bare quotes is always a key.
TEXT = re.compile(rb'(?:"delta"\s*:\s*\{\s*)?"(?:content|reasoning|reasoning_content|text)"\s*:\s*"(?=[^"])')
_CALLS = re.compile(rb'"tool_calls"\s*:\s*\[\s*\{')
_CHOICES = b'"choices"'
_NO_CHOICE = b'"choices":[]'


class ContentScan:
    """Learns the shape of a server's events from full parses of the first ones; one serves all answers of a run.

    Where a parsed event has content, the bytes that lead to it, such as ``"delta":{"content":"``, become a mark. An
    event with a mark and a character behind it has content; one without any is parsed, and may teach another mark, or
    that what stands from its choices on is without content. The full parse after the answer has the last word: see
    `Answer.missed`.
    """

    __slots__ = ("_calls", "_tails", "_texts", "parsed")

    def __init__(self) -> None:
        self._texts: list[tuple[bytes, int]] = []
        self._calls: list[bytes] = []
        self._tails: set[bytes] = set()  # from "choices" on: parsed before, and without content
        self.parsed = 0  # events that had to be parsed while they came

    def has_content(self, event: bytes) -> bool:
        for mark, size in self._texts:
            at = event.find(mark)
            if at >= 0:
                if event[at + size : at + size + 1] not in _NOTHING:
                    return True
                break
        for mark in self._calls:
            if mark in event:
                return True
        at = event.find(_CHOICES)
        if at < 0:
            return self._parse(event)
        tail = event[at:]
        if tail in self._tails or tail.startswith(_NO_CHOICE):
            return False
        if self._parse(event):
            return True
        if len(self._tails) < _MOST_TAILS:
            self._tails.add(tail)
        return False

    def _parse(self, event: bytes) -> bool:
        data = event_data(event)
        if data is None or data[:1] != b"{":
            return False
        self.parsed += 1
        try:
            row = json.loads(data)
        except ValueError:
            return False
        choices = row.get("choices") if isinstance(row, dict) else None
        found = any(isinstance(choice, dict) and content_of(choice) for choice in choices or ())
        if found and len(self._texts) + len(self._calls) < MOST_MARKS:
            self._learn(event)
        return found

    def _learn(self, event: bytes) -> None:
        if text := TEXT.search(event):
            self._texts.append((text[0], len(text[0])))
        elif calls := _CALLS.search(event):
            self._calls.append(calls[0])


def content_of(choice: dict[str, object]) -> bool:
    """Whether a choice has text, reasoning or a tool call that is not empty."""
    part = choice.get("delta") or choice.get("message") or {}
    if not isinstance(part, dict):
        return False
    text = part.get("content") if part else choice.get("text")
    return bool(text or part.get("reasoning") or part.get("reasoning_content") or part.get("tool_calls"))
