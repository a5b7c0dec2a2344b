"""Events that differ from a parsed one in nothing but their text."""

import json
from typing import TYPE_CHECKING, Any

from tui.traffic.http.sse import event_data
from tui.traffic.replay.scan import TEXT

if TYPE_CHECKING:
    from tui.traffic.replay.answer import Parsed


FEW = 12


class Like:
    """A full parse at a fraction of its cost: the chunks of an answer are alike but for one string.

    Once an event was parsed that held one choice with text and nothing else to tell, an event with the same bytes
    before and behind that string has the same reading with another text. Where the string has a quote, a backslash or
    a sign that is not printable, `take` leaves it to the parser.
    """

    __slots__ = ("_after", "_before", "_reasoning", "_tries")

    def __init__(self, events: int) -> None:
        """`events` is how many the answer has: learning costs about four parses."""
        self._before = self._after = b""
        self._reasoning = False
        self._tries = 4 if events > FEW else 0  # an answer whose events are no such thing is not tried for ever

    def take(self, parsed: "Parsed", event: bytes, at: int) -> bool:
        """Read the event if it is like the one that was learned; False leaves it unread."""
        before, after = self._before, self._after
        if not before or not event.startswith(before) or not event.endswith(after):
            return False
        raw = event[len(before) : len(event) - len(after)]
        if not raw or b'"' in raw or b"\\" in raw:
            return False
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return False
        if not text.isprintable():
            return False
        parsed.events += 1
        (parsed.reasoning if self._reasoning else parsed.text).append(text)
        parsed.content_ns.append(at)
        return True

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
            self._before, self._after, self._reasoning = before, after, reasoning


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
