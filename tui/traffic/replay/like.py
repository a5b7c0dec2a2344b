"""Events that differ from a parsed one in nothing but their text."""

import json
from typing import Any

from tui.traffic.http.sse import event_data
from tui.traffic.replay.scan import TEXT

FEW = 12


class Like:
    """A full parse at a fraction of its cost: the chunks of an answer are alike but for one string.

    Once an event was parsed that held one choice with text and nothing else to tell, an event with the same bytes
    before and behind that string has the same reading with another text. Where a string has a quote, a backslash or
    a sign that is not printable ASCII, `read` leaves it to the parser.
    """

    __slots__ = ("_after", "_before", "_tries", "reasoning")

    def __init__(self, events: int) -> None:
        """`events` is how many the answer has: learning costs about four parses."""
        self._before = self._after = b""
        self.reasoning = False  # whether the texts are reasoning
        self._tries = 4 if events > FEW else 0  # an answer whose events are no such thing is not tried for ever

    def read(self, events: list[bytes]) -> str | None:
        """The texts of the events in one piece, if all of them are like the one that was learned, else None."""
        before, after = self._before, self._after
        if not before:
            return None
        start, end = len(before), -len(after)
        raw = [event[start:end] for event in events if event.startswith(before) and event.endswith(after)]
        # One shorter than both parts together has an empty string here.
        if len(raw) < len(events) or not all(raw):
            return None
        joined = b"".join(raw)
        if not joined.isascii() or b'"' in joined or b"\\" in joined:
            return None
        text = joined.decode("ascii")
        return text if text.isprintable() else None

    def learn(self, event: bytes) -> None:
        """Take an event as the pattern, if only its text matters."""
        if not self._tries or (found := TEXT.search(event)) is None:
            return
        self._tries -= 1
        start, end = found.end(), event.find(b'"', found.end())
        before, after = event[:start], event[end:]
        if event_data(event) is None or b"\n" in event or b"\\" in event[start:end]:
            return
        mark = b"text that was put here"
        row = _row(before + mark + after)
        if (reasoning := _reads_as(row, mark.decode())) is not None:
            self._before, self._after, self.reasoning = before, after, reasoning


def _row(event: bytes) -> Any:
    try:
        return json.loads(event_data(event) or b"")
    except ValueError:
        return None


def _reads_as(row: Any, text: str) -> bool | None:
    """Whether `text` is reasoning, of a chunk that says nothing else than this text of its only choice; else None."""
    if not isinstance(row, dict) or any(row.get(key) for key in ("error", "usage", "metrics")):
        return None
    choices = row.get("choices")
    if row.get("object") == "error" or not isinstance(choices, list) or len(choices) != 1:
        return None
    choice = choices[0]
    if not isinstance(choice, dict) or choice.get("index") or choice.get("finish_reason") or choice.get("message"):
        return None
    delta = choice.get("delta")
    if delta is None:
        return False if choice.get("text") == text else None
    said = {k: v for k, v in delta.items() if v not in (None, []) and k != "role"} if isinstance(delta, dict) else {}
    if said == {"content": text}:
        return False
    return True if said in ({"reasoning": text}, {"reasoning_content": text}) else None
