"""The line of the recorder: where it listens, how much it has, and into which file; hidden while it is off."""

from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from tui.session.snapshot import RecorderView, Snapshot
from tui.widgets import figures
from tui.widgets.key_names import key
from tui.widgets.panel import words
from tui.widgets.plain import plain


class RecorderLine(Widget):
    """A click on it does what its key does."""

    auto_links = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._view: RecorderView | None = None
        self.display = False

    def show(self, snapshot: Snapshot) -> None:
        if snapshot.recorder != self._view:
            self._view = snapshot.recorder
            self.display = self._view is not None
            self.refresh()

    def on_click(self) -> None:
        self.screen.action_hands("record")  # type: ignore[attr-defined]

    def render(self) -> Content:
        view, width = self._view, self.content_size.width
        if view is None:
            return Content("")
        kept = words((figures.count(view.kept), "bold"), (" calls kept", "$dim"))
        flying = words((f" · {figures.count(view.in_flight)} in flight", "$dim")) if view.in_flight else Content("")
        mark = words(("◉ ", "bold $error"), ("recording ", "bold"), (plain(view.url, 80), ""))
        file = words((" → ", "$faint"), (plain(Path(view.path).name, 80), "$dim"))
        stop = words(("stopping", "$warning") if view.state == "stopping" else (f"{key('record')} stops", "$dim"))
        gap = ("  ", "")
        forms = (
            words(mark, file, gap, kept, flying, gap, stop),
            words(mark, gap, kept, flying, gap, stop),
            words(mark, gap, kept),
        )
        return next((form for form in forms if form.cell_length <= width), forms[-1].truncate(width, ellipsis=True))
