"""The bar under a reopened session: that it is one, of when, and where in it the dashboard stands."""

from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from tui.session.reopen.position import Position
from tui.session.snapshot import Notice
from tui.widgets import figures
from tui.widgets.drawing import Drawing
from tui.widgets.plain import plain

SAID_S = 8.0
"""How long a refusal stays, by the person's clock: the session's may stand still or race."""

_MARKS = {"info": ("· ", "$primary"), "warning": ("▲ ", "bold $warning"), "error": ("✕ ", "bold $error")}


class Transport(Widget):
    """Two lines, one where the screen is low. A click on the line of time goes there."""

    auto_links = False

    class Sought(Message):
        """Go to a share of the session, 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, position: Position, *, id: str) -> None:
        super().__init__(id=id)
        self._position = position
        self._said: Notice | None = None
        self._forget: Timer | None = None
        self._track = (0, 0, 0)  # line, first cell and cells of the line of time

    def show(self, position: Position) -> None:
        if position != self._position:
            self._position = position
            self.refresh()

    def say(self, notice: Notice) -> None:
        """A line of the screen's own, instead of what happens at the playhead."""
        if self._forget is not None:
            self._forget.stop()
        self._said, self._forget = notice, self.set_timer(SAID_S, self._fall_silent)
        self.refresh()

    def _fall_silent(self) -> None:
        self._said = None
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        line, first, cells = self._track
        if place is not None and place.y == line and first <= place.x < first + cells:
            self.post_message(self.Sought((place.x - first) / max(1, cells - 1)))

    def render(self) -> Content:
        width, height = self.content_size
        if width <= 0 or height <= 0:
            return Content("")
        if height == 1:
            badge = _badge(self._position, short=True)
            if self._said is not None:
                return Content.assemble(badge, " ", _words(self._said)).truncate(width, ellipsis=True)
            return self._timeline(0, badge, width)
        first = _headline(self._position, self._said, width)
        return Drawing([first, self._timeline(1, Content(""), width)], self.app.theme)

    def _timeline(self, line: int, head: Content, width: int) -> Content:
        here = self._position
        left = Content.assemble(head, " " if head else "", _state(here))
        right = Content.styled(f" {figures.clock(here.end - here.start)}", "$dim")
        cells = max(0, width - left.cell_length - right.cell_length)
        self._track = (line, left.cell_length, cells)
        return Content.assemble(left, _track(here, cells), right).truncate(width)


def _badge(here: Position, short: bool = False) -> Content:
    kind = "LIVE, ANOTHER VTUNE'S" if here.live else "REOPENED"
    when = here.created[:10] if short else here.created
    return Content.styled(f" {kind}{f' {plain(when, 24)}' if when else ''} ", "reverse bold $warning")


def _headline(here: Position, said: Notice | None, width: int) -> Content:
    """The badge first; then the refusal that was just earned, or the session and its last event."""
    badge = _badge(here)
    if said is not None:
        return Content.assemble(badge, " ", _words(said)).truncate(width, ellipsis=True)
    parts = [Content.styled("read only", "$dim")]
    if here.loading is not None:
        parts = [Content(f"reading its journal {figures.percent(here.loading)}")]
    elif here.here is not None:
        style = "bold $error" if here.here.kind == "trouble" else ""
        parts.append(Content.styled(plain(here.here.words, 120), style))
    if here.clock:
        parts.insert(0, Content.styled(f"at {here.clock}", "$dim"))
    if here.unread:
        parts.append(Content.styled(f"{here.unread} events could not be read", "$warning"))
    if here.following and not here.live and not here.closed and here.loading is None:
        parts.append(Content.styled("broken off here", "$warning"))
    parts.append(Content.styled(plain(here.session, 60), "$dim"))
    return Content.assemble(badge, " ", Content.styled(" · ", "$faint").join(parts)).truncate(width, ellipsis=True)


def _words(said: Notice) -> Content:
    mend = ((" — ", "$faint"), (plain(said.mend, 200), "$dim")) if said.mend else ()
    return Content.assemble(_MARKS[said.level], plain(said.what, 200), *mend)


def _state(here: Position) -> Content:
    if here.live and here.following:
        word = ("● newest ", "$success")
    else:
        word = ("▶ ", "bold $primary") if here.playing else ("‖ ", "bold $warning")
    return Content.assemble(word, (f"{here.speed:g}x ", "$dim"), (f"{figures.clock(here.at - here.start)} ", "bold"))


def _track(here: Position, cells: int) -> Content:
    """Runs thick, engines that come up dashed, troubles crossed; what lies before the playhead is bright."""
    length = here.end - here.start
    if cells <= 0 or length <= 0:
        return Content.styled("─" * max(0, cells), "$faint")

    def cell(at: float) -> int:
        return max(0, min(cells - 1, int((at - here.start) / length * cells)))

    glyphs = ["─"] * cells
    for span in here.spans:
        first, last = cell(span.start), cell(span.end)
        glyphs[first : last + 1] = ["━" if span.kind == "run" else "╌"] * (last + 1 - first)
    for at in here.troubles:
        glyphs[cell(at)] = "✕"
    head = cell(here.at)
    pieces = [_piece(glyph, "●" if place == head else glyph, place <= head) for place, glyph in enumerate(glyphs)]
    return Content.assemble(*_joined(pieces))


def _piece(kind: str, shown: str, passed: bool) -> tuple[str, str]:
    if shown == "●":
        return shown, "bold $foreground"
    if kind == "✕":
        return shown, "$error"
    return shown, "$primary" if passed and kind == "━" else "$dim" if passed or kind == "━" else "$faint"


def _joined(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbours of one style as one piece."""
    found: list[tuple[str, str]] = []
    for text, style in pieces:
        if found and found[-1][1] == style:
            found[-1] = (found[-1][0] + text, style)
        else:
            found.append((text, style))
    return found
