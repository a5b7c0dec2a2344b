"""The lines of a log with how bad each is, which of them are shown, and where a text was found; no screen."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from tui.widgets.log_tail import severity

Level = Literal["", "$warning", "$error"]
Filter = Literal["all", "warnings", "errors"]
FILTERS: tuple[Filter, ...] = ("all", "warnings", "errors")
"""In the order in which a key goes through them; warnings has the errors too."""

_SHOWN: dict[Filter, frozenset[str]] = {
    "all": frozenset(("", "$warning", "$error")),
    "warnings": frozenset(("$warning", "$error")),
    "errors": frozenset(("$error",)),
}


class LogLine(NamedTuple):
    text: str
    level: str


class LogLines:
    """At most `most` lines, the oldest dropped first. `shown` passes the filter; `found` are places in `shown`."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._all: list[LogLine] = []
        self.shown: list[LogLine] = []
        self.found: list[int] = []
        self.filter: Filter = "all"
        self.sought = ""
        self.at: int | None = None  # which of `found` is in hand

    def __len__(self) -> int:
        return len(self._all)

    @property
    def errors(self) -> int:
        return sum(line.level == "$error" for line in self._all)

    @property
    def line(self) -> int | None:
        """The place in `shown` of the match in hand."""
        return None if self.at is None else self.found[self.at]

    def clear(self) -> None:
        self._all.clear()
        self._choose()

    def add(self, lines: Iterable[str]) -> None:
        """Append; a line that is indented is as bad as the one that it belongs to."""
        fresh = []
        before = self._all[-1].level if self._all else ""
        for text in lines:
            before = before if text[:1] in (" ", "\t") else severity(text)
            fresh.append(LogLine(text, before))
        self._all += fresh
        if len(self._all) > self._most:
            del self._all[: -self._most]
            self._choose()
            return
        for line in fresh:
            self._show(line)

    def show_only(self, filter: Filter) -> None:
        self.filter = filter
        self._choose()

    def seek(self, text: str) -> None:
        """Look for `text`, in any case; the last match is in hand then. Nothing is looked for where it is empty."""
        self.sought = text.casefold()
        self._choose()
        self.at = len(self.found) - 1 if self.found else None

    def step(self, by: int) -> bool:
        """Take the next match in hand, or the one before; around the ends. False where there is none."""
        if not self.found:
            return False
        self.at = ((self.at if self.at is not None else -1 if by > 0 else 0) + by) % len(self.found)
        return True

    def _choose(self) -> None:
        held = self.shown[self.line] if self.line is not None else None
        self.shown, self.found, self.at = [], [], None
        for line in self._all:
            self._show(line)
        if held is not None:
            self.at = next((n for n, place in enumerate(self.found) if self.shown[place] is held), None)

    def _show(self, line: LogLine) -> None:
        if line.level in _SHOWN[self.filter]:
            if self.sought and self.sought in line.text.casefold():
                self.found.append(len(self.shown))
            self.shown.append(line)
