"""A bordered area that draws one view of the session, and draws again only when that view changed."""

from typing import Any, ClassVar

from textual.content import Content
from textual.widget import Widget

from tui.session.snapshot import Snapshot
from tui.widgets.drawing import Drawing


class Panel(Widget, can_focus=True):
    """`view` picks what can be seen out of a snapshot, `draw` turns it into lines; both are pure."""

    auto_links = False  # nothing here is a link, and looking for some costs a tenth of a drawing

    TELLS: ClassVar[str] = ""
    """One line for the help screen: what this panel tells."""
    EVERY_S: ClassVar[float] = 0.0
    """While a replay runs, drawn no more often than this, by the clock of the snapshots: for drawings that cost."""

    def __init__(self, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._view: Any = None
        self._looked = 0.0

    def show(self, snapshot: Snapshot) -> None:
        """Draw `snapshot`, if anything that this panel shows is different in it."""
        if snapshot.run is not None and 0 < snapshot.now - self._looked < self.EVERY_S:
            return
        self._looked = snapshot.now
        view = self.view(snapshot)
        if view == self._view:
            return
        self._view = view
        self._entitle()
        self.refresh()

    def on_resize(self) -> None:
        if self._view is not None:
            self._entitle()

    def _entitle(self) -> None:
        """As many parts of the heading as fit the border, never a part of one."""
        first, *rest = self.heading(self._view)
        title = first
        for part in rest:
            longer = Content.assemble(title, (" · ", "$dim"), part)
            if longer.cell_length > self.outer_size.width - 6:
                break
            title = longer
        if self.border_title != title.markup:
            self.border_title = title  # type: ignore[assignment]  # Content is taken as well, and is never parsed

    def view(self, snapshot: Snapshot) -> Any:
        """What this panel shows, as something that compares; quantised to what can be seen."""
        raise NotImplementedError

    def heading(self, view: Any) -> list[Content]:
        """The title in the border, in parts; the last go first where there is no room."""
        raise NotImplementedError

    def draw(self, view: Any, width: int, height: int) -> list[Content]:
        """At most `height` lines of at most `width` cells."""
        raise NotImplementedError

    def render(self) -> Content:
        width, height = self.content_size
        if self._view is None or width <= 0 or height <= 0:
            return Content("")
        lines = self.draw(self._view, width, height)
        return Drawing([line.truncate(width, ellipsis=True) for line in lines[:height]], self.app.theme)


def words(*parts: str | tuple[str, str] | Content) -> Content:
    """One line of text pieces, each plain, or (text, style), or Content."""
    return Content.assemble(*parts)


def told(text: str, width: int, more: str = "") -> list[Content]:
    """Words instead of a drawing, wrapped; `more` is the quieter second sentence."""
    lines = list(Content(text).wrap(width))
    return lines + [line.stylize("$dim") for line in Content(more).wrap(width)] if more else lines


def flow(parts: list[Content], width: int, gap: str = " · ") -> list[Content]:
    """`parts` on as few lines as fit `width`, never broken inside a part."""
    lines: list[Content] = []
    for part in parts:
        if lines and lines[-1].cell_length + len(gap) + part.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], (gap, "$faint"), part)
        else:
            lines.append(part)
    return lines
