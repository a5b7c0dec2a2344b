"""Events that differ from a parsed one in nothing but their text."""

import json
import re
from json.decoder import scanstring
from typing import Any

from tui.traffic.http.sse import event_data
from tui.traffic.replay.scan import TEXT

_SIGN = b"\x7f"  # any that JSON lets stand in a string and that no one sends
_SIGN_TEXT = _SIGN.decode()
_MARK = "text that was put here"
_MOST_SHAPES = 4
_MOST_TRIES = 64  # in a run: a server whose events are no such thing is not tried for ever


class Like:
    """One answer's text events: `before`, a JSON string's inside, `end`; and whether that is reasoning."""

    __slots__ = ("_between", "_start", "_stop", "before", "end", "reasoning")

    def __init__(self, before: bytes, after: bytes, reasoning: bool) -> None:
        self.before, self.end, self.reasoning = before, after + b"\n\n", reasoning
        self._between = self.end + before
        self._start, self._stop = len(before), -len(self.end)

    def one(self, event: bytes) -> str | None:
        """As `read` does, of one event."""
        if not (event.startswith(self.before) and event.endswith(self.end)):
            return None
        try:
            inside = event[self._start : self._stop].decode() + '"'
            text, end = scanstring(inside, 0, True)
        except ValueError:
            return None
        return text if end == len(inside) and text else None

    def read(self, events: list[bytes]) -> str | None:
        """The texts of events, each with its empty line, in one piece; None if one of them has more or less to tell."""
        start, stop = self._start, self._stop
        texts = [event[start:stop] for event in events]
        if not all(texts) or self.before + self._between.join(texts) + self.end != b"".join(events):
            return None
        # The sign between them keeps half an escape or half a character from finding its other half.
        try:
            inside = _SIGN.join(texts).decode() + '"'
            text, end = scanstring(inside, 0, True)
        except ValueError:
            return None
        if end != len(inside) or text.count(_SIGN_TEXT) != len(texts) - 1:
            return None
        return text.replace(_SIGN_TEXT, "")


class Shapes:
    """A full parse at a fraction of its cost: the chunks of a server are alike but for a few strings.

    Once an event was parsed that held one choice with text and nothing else to tell, an event with the same bytes
    around its id, its time and that text has the same reading with another text.
    """

    __slots__ = ("_known", "_tries")

    def __init__(self) -> None:
        self._known: list[tuple[re.Pattern[bytes], bool]] = []
        self._tries = _MOST_TRIES

    def like(self, event: bytes) -> Like | None:
        """How the events of this one's answer look; None for an event with more to tell than a text."""
        for pattern, reasoning in self._known:
            if found := pattern.fullmatch(event):
                return Like(found[1], found[2], reasoning)
        return self._learn(event)

    def _learn(self, event: bytes) -> Like | None:
        if not self._tries or len(self._known) == _MOST_SHAPES or (found := TEXT.search(event)) is None:
            return None
        self._tries -= 1
        start, end = found.end(), event.find(b'"', found.end())
        before, after = event[:start], event[end:]
        if event_data(event) is None or b"\n" in event or b"\\" in event[start:end]:
            return None
        row = _row(before + _MARK.encode() + after)
        if (reasoning := _reads_as(row, _MARK)) is None:
            return None
        self._known.append((re.compile(b'(%s)[^"\\\\\n]*(%s)' % (_own(before, row), re.escape(after))), reasoning))
        return Like(before, after, reasoning)


def _own(before: bytes, row: dict[str, Any]) -> bytes:
    """A pattern for `before` with any other id and time in place of this answer's."""
    pattern = re.escape(before)
    for key, value, any_other in (("id", row.get("id"), rb"[\w.:-]+"), ("created", row.get("created"), rb"\d+")):
        if type(value) not in (str, int) or not re.fullmatch(any_other, str(value).encode()):
            continue
        own = re.escape(json.dumps(value).encode())
        named = re.compile(re.escape(re.escape(f'"{key}":'.encode())) + rb"(?:\\ )*" + re.escape(own))
        if len(found := named.findall(pattern)) == 1:
            quote = b'"' if isinstance(value, str) else b""
            pattern = pattern.replace(found[0], found[0].removesuffix(own) + quote + any_other + quote)
    return pattern


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
