"""A failed start or a dead engine: cause and mend in words, and the end of its log."""

from dataclasses import dataclass

from textual.content import Content

from tui.session.snapshot import EngineState, Snapshot
from tui.widgets.engine_state import STATES
from tui.widgets.log_tail import LogTail, severity
from tui.widgets.panel import Panel, words
from tui.widgets.plain import plain


@dataclass(frozen=True, slots=True)
class View:
    state: EngineState
    what: str
    mend: str
    log: tuple[str, ...]


class FailureView(Panel):
    TELLS = "Why the engine is not there, and what mends it."

    def __init__(self, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._tail = LogTail(keep=60)

    def view(self, snapshot: Snapshot) -> View:
        engine = snapshot.engine
        if engine.failure is None:
            return View(engine.state, "no cause was found in the log", "l shows the whole log", ())
        self._tail.look(engine.log_path)
        return View(engine.state, engine.failure.what, engine.failure.mend, tuple(self._tail.lines))

    def heading(self, view: View) -> Content:
        glyph, word, style = STATES[view.state]
        return words((f"{glyph} Engine {word}", style))

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        lines = [
            *words(("cause  ", "$dim"), (plain(view.what), "bold")).wrap(width),
            *words(("mend   ", "$dim"), plain(view.mend)).wrap(width),
        ]
        if height > len(lines) + 1:
            lines += [Content(""), words(("R starts again · u drops the change · l shows the log", "$dim"))]
        room = height - len(lines) - 1
        if room > 0 and view.log:
            lines.append(Content(""))
            lines += [Content.styled(plain(line, width), severity(line) or "$dim") for line in view.log[-room:]]
        return lines
