"""A long log on screen: only the lines in view are drawn; errors are marked, matches of a search stand out."""

from collections.abc import Iterable

from rich.cells import cell_len
from rich.text import Text
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.widgets.log_lines import FILTERS, LogLine, LogLines
from tui.widgets.plain import plain

WIDEST = 2_000
"""Characters of a line that are shown."""

_MARKS = {"$error": "✕ ", "$warning": "▲ ", "": "  "}
_STYLES = {"$error": "log-view--error", "$warning": "log-view--warning", "": "log-view--line"}


def _cells(line: str) -> int:
    return len(line) if line.isascii() else cell_len(line)


class LogView(ScrollView, can_focus=True):
    """Stays at the end while it is there; scrolled away, it stays where it is."""

    TELLS = "What the engine wrote, as text. ✕ marks errors, ▲ warnings. At its end the log is followed as it grows."

    COMPONENT_CLASSES = {"log-view--line", "log-view--warning", "log-view--error", "log-view--found", "log-view--at"}

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.log_lines = LogLines()
        self._widest = 0
        self.follows = True  # the end is in view, and stays so

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.size.height:
            self.follows = new_value >= self.max_scroll_y

    def on_resize(self) -> None:
        if self.follows:
            self.to_end()

    def start_over(self) -> None:
        """Another log, from its end."""
        self.follows = True
        self.log_lines.clear()
        self._widest = 0
        self._measured()

    def add(self, lines: Iterable[str]) -> None:
        """Append lines, already plain."""
        fresh = list(lines)
        if not fresh:
            return
        followed, before = self.follows, len(self.log_lines.shown)
        self.log_lines.add(fresh)
        self._widest = max(self._widest, max(_cells(line[:WIDEST]) for line in fresh))
        if len(self.log_lines.shown) != before or len(self.log_lines) >= 20_000:
            self._measured(followed)

    def next_filter(self) -> None:
        kept = self.log_lines.filter
        self.log_lines.show_only(FILTERS[(FILTERS.index(kept) + 1) % len(FILTERS)])
        if self.log_lines.line is None:
            self.scroll_to(x=0, animate=False, immediate=True, force=True)
        self._measured(self.log_lines.line is None)
        self._to_match()

    def seek(self, text: str) -> None:
        self.log_lines.seek(plain(text, WIDEST))
        self._to_match()
        self.refresh()

    def step(self, by: int) -> bool:
        found = self.log_lines.step(by)
        self._to_match()
        self.refresh()
        return found

    def to_end(self) -> None:
        self.follows = True
        self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True, force=True)  # as far right as it was

    @property
    def line(self) -> str | None:
        """The line in hand: the match, else the last in view."""
        shown = self.log_lines.shown
        place = self.log_lines.line
        if place is None:
            place = min(len(shown), self.scroll_offset.y + self.size.height) - 1
        return shown[place].text if 0 <= place < len(shown) else None

    def _measured(self, end: bool = True) -> None:
        self.virtual_size = Size(min(self._widest, WIDEST) + 2, len(self.log_lines.shown))
        if end:
            self.to_end()
        self.refresh()

    def _to_match(self) -> None:
        place = self.log_lines.line
        if place is None:
            return
        height = self.scrollable_content_region.height
        if not self.scroll_offset.y <= place < self.scroll_offset.y + height:
            self.scroll_to(y=max(0, place - height // 2), animate=False, immediate=True, force=True)
        found = self.log_lines.shown[place].text.casefold().find(self.log_lines.sought)
        fits = found + len(self.log_lines.sought) < self.size.width - 4
        # The line's beginning where the match is in it, for what a line is about stands there.
        if fits or not self.scroll_offset.x <= found < self.scroll_offset.x + self.size.width - 4:
            self.scroll_to(x=0 if fits else max(0, found - 8), animate=False, immediate=True, force=True)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        place = top + y
        if place >= len(self.log_lines.shown):
            return Strip.blank(width, self.rich_style)
        text = self._text(self.log_lines.shown[place], place == self.log_lines.line)
        strip = Strip(text.render(self.app.console)).crop_extend(left, left + width, self.rich_style)
        return strip.apply_style(self.rich_style)

    def _text(self, line: LogLine, at: bool) -> Text:
        said = plain(line.text, WIDEST)
        text = Text(_MARKS[line.level] + said, end="")
        text.stylize(self.get_component_rich_style(_STYLES[line.level]))
        if sought := self.log_lines.sought:
            style = self.get_component_rich_style("log-view--at" if at else "log-view--found")
            folded = said.casefold()
            start = folded.find(sought)
            while start >= 0:
                text.stylize(style, start + 2, start + 2 + len(sought))
                start = folded.find(sought, start + len(sought))
        return text
