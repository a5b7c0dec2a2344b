"""The line above the footer: what happened last, and its mend."""

from textual.content import Content
from textual.widget import Widget

from tui.session.snapshot import Notice, Snapshot
from tui.widgets.plain import plain

LASTS_S = {"info": 12.0, "warning": 30.0, "error": 120.0}
_MARKS = {"info": ("·", "$primary"), "warning": ("▲", "bold $warning"), "error": ("✕", "bold $error")}


class NoticeLine(Widget):
    """Hidden while there is nothing to say."""

    auto_links = False  # nothing here is a link, and looking for some costs a tenth of a drawing

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._notice: Notice | None = None
        self._own: Notice | None = None
        self._own_lasts_s: float | None = None
        self._dismissed: Notice | None = None

    def say(self, notice: Notice, snapshot: Snapshot, lasts_s: float | None = None) -> None:
        """Show a notice of the screen's own, such as a refused action; as long as its level is worth, or `lasts_s`."""
        self._own, self._own_lasts_s = notice, lasts_s
        self.show(snapshot)

    def dismiss(self) -> None:
        self._dismissed = self._notice
        self._put(None)

    def show(self, snapshot: Snapshot) -> None:
        newest = max(
            (*snapshot.notices[-1:], *([self._own] if self._own else [])), key=lambda one: one.at, default=None
        )
        if newest is not None and (newest == self._dismissed or snapshot.now - newest.at > self._lasts_s(newest)):
            newest = None
        self._put(newest)

    def _lasts_s(self, notice: Notice) -> float:
        own = self._own_lasts_s if notice is self._own else None
        return LASTS_S[notice.level] if own is None else own

    def _put(self, notice: Notice | None) -> None:
        if notice != self._notice:
            self._notice = notice
            self.display = notice is not None
            self.refresh(layout=True)

    def render(self) -> Content:
        notice = self._notice
        if notice is None:
            return Content("")
        glyph, style = _MARKS[notice.level]
        mend = ((" — ", "$faint"), (plain(notice.mend, 300), "$dim")) if notice.mend else ()
        return Content.assemble((f"{glyph} ", style), plain(notice.what, 300), *mend)
