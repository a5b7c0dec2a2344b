"""A failed start or a dead engine: cause and mend in words, and the end of its log."""

from typing import NamedTuple

from textual.content import Content

from tui.session.snapshot import EngineState, Snapshot
from tui.widgets.engine_state import STATES
from tui.widgets.key_names import key
from tui.widgets.log_tail import LogTail, log_lines
from tui.widgets.panel import Panel, words
from tui.widgets.plain import plain


class View(NamedTuple):
    state: EngineState
    what: str
    mend: str
    pending: bool
    kept: bool
    log: tuple[str, ...]


class FailureView(Panel):
    TELLS = "Why the engine is not there, and what mends it."

    def __init__(self, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._tail = LogTail(keep=60)

    def view(self, snapshot: Snapshot) -> View:
        engine = snapshot.engine
        if engine.failure is None:
            whole = f"{key('log')} shows the whole log"
            return View(engine.state, "no cause was found in the log", whole, bool(snapshot.pending), snapshot.kept, ())
        self._tail.look(engine.log_path)
        what, mend, log = engine.failure.what, engine.failure.mend, tuple(self._tail.lines)
        return View(engine.state, what, mend, bool(snapshot.pending), snapshot.kept, log)

    def heading(self, view: View) -> list[Content]:
        glyph, word, style = STATES[view.state]
        return [words((f"{glyph} engine {word}", style))]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        lines = [
            *words(("cause  ", "$dim"), (plain(view.what), "bold")).wrap(width),
            *words(("mend   ", "$dim"), plain(view.mend)).wrap(width),
        ]
        if height > len(lines) + 1:
            lines += [Content(""), words((" · ".join(_keys(view)), "$dim"))]
        room = height - len(lines) - 1
        if room > 0 and view.log:
            lines.append(Content(""))
            lines += log_lines(view.log, width, room)
        return lines


def _keys(view: View) -> list[str]:
    """What can be done now; in a session that is only read, nothing but to read on."""
    restart = [] if view.kept else [f"{key('restart')} starts it again"]
    undo = [f"{key('undo')} undoes the change"] if view.pending and not view.kept else []
    return [*restart, *undo, f"{key('log')} shows the log"]
