"""The engine coming up: its phases with the time of each, and the last lines of its log."""

from typing import NamedTuple

from textual.content import Content

from tui.session.snapshot import EngineState, EngineView, PhaseView, Snapshot
from tui.widgets import figures
from tui.widgets.engine_state import STATES
from tui.widgets.key_names import key
from tui.widgets.log_tail import LogTail, log_lines
from tui.widgets.panel import Panel, words
from tui.widgets.plain import plain


class View(NamedTuple):
    state: EngineState
    elapsed: int
    phases: tuple[PhaseView, ...]
    estimate_s: float | None
    log: tuple[str, ...]


class Startup(Panel):
    TELLS = "The engine coming up, phase by phase; the estimate is from earlier starts of this profile on this machine."

    def __init__(self, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._tail = LogTail(keep=60)

    def view(self, snapshot: Snapshot) -> View:
        engine = snapshot.engine
        self._tail.look(engine.log_path)
        elapsed = max(0, int(snapshot.now - engine.since)) if engine.since else 0
        return View(engine.state, elapsed, _whole(engine), engine.estimate_s, tuple(self._tail.lines))

    def heading(self, view: View) -> list[Content]:
        _, word, _ = STATES[view.state]
        return [words(f"Engine {word}")]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        lines = [_summary(view, width), Content("")] if height > 8 else [_summary(view, width)]
        lines += [_phase(phase) for phase in view.phases][-max(1, height - len(lines) - 3) :]
        room = height - len(lines) - 2
        if room > 0 and view.log:
            lines += [Content(""), words((f"last log lines · {key('log')} shows the log", "$dim"))]
            lines += log_lines(view.log, width, room)
        return lines


def _whole(engine: EngineView) -> tuple[PhaseView, ...]:
    """Phases with their seconds rounded to what is shown, so that a tick alone redraws nothing."""
    return tuple(PhaseView(phase.name, round(phase.seconds, 1), phase.done) for phase in engine.phases)


def _summary(view: View, width: int) -> Content:
    if view.estimate_s is None:
        return words(f"{figures.clock(view.elapsed)} so far", ("  no earlier start to compare with", "$dim"))
    cells = max(10, min(40, width - 34))
    full = round(min(1.0, view.elapsed / max(1.0, view.estimate_s)) * cells)
    late = view.elapsed > view.estimate_s
    left = view.estimate_s - view.elapsed
    word = "longer than usual" if late else f"about {figures.clock(left)} left" if left >= 1 else "any moment now"
    return words(
        (f"{'━' * full}", "$primary"),
        (f"{'─' * (cells - full)}", "$faint"),
        f" {figures.clock(view.elapsed)}",
        (f"  {word}", "$dim"),
    )


def _phase(phase: PhaseView) -> Content:
    mark = ("✓", "$success") if phase.done else ("▸", "$warning")
    style = "" if phase.done else "bold"
    took = f"{phase.seconds:.1f} s"
    return words(mark, (f" {plain(phase.name, 24):<16}", style), (f"{took:>9}", "$dim" if phase.done else "bold"))
