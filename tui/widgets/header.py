"""The top line: what is served, how the engine is and for how long, and how far the replay is."""

from typing import NamedTuple

from textual.content import Content
from textual.widget import Widget

from tui.session.snapshot import EngineState, LiveRun, Snapshot
from tui.widgets import figures
from tui.widgets.engine_state import STATES
from tui.widgets.numbers import STALE_S
from tui.widgets.plain import plain

_BAR_WIDEST = 24


class View(NamedTuple):
    names: tuple[str, ...]  # profile, model, vLLM, device: the last is the first to go when there is no room
    state: EngineState
    age: str
    run: str | None
    share: float
    tail: str
    paused: bool
    stale: str = ""  # how old the newest metrics are, where that matters
    opening: bool = False


class Header(Widget):
    """One line where there is room, two where there is not."""

    auto_links = False  # nothing here is a link, and looking for some costs a tenth of a drawing

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._view = View((), "none", "", None, 0.0, "", False, opening=True)
        self._paused = False

    def show(self, snapshot: Snapshot) -> None:
        view = _view(snapshot, self._paused)
        if view != self._view:
            self._view = view
            self.refresh()

    def pause(self, paused: bool, snapshot: Snapshot) -> None:
        self._paused = paused
        self.show(snapshot)

    def render(self) -> Content:
        width, height = self.content_size
        view = self._view
        engine = _engine(view)
        if height >= 2:
            second = _longest(_progress(view, width // 3), width) or Content.styled("no replay is running", "$dim")
            return Content("\n").join((_line(view.names, engine, width), second.truncate(width)))
        tail = _longest(_progress(view, width // 8), width - engine.cell_length - 10)
        return _line(view.names, Content.assemble(engine, "   ", tail) if tail else engine, width)


def _line(names: tuple[str, ...], right: Content, width: int) -> Content:
    left = _names(names, width - right.cell_length - 2)
    gap = " " * max(1, width - left.cell_length - right.cell_length)
    return Content.assemble(left, gap, right).truncate(width)


def _longest(choices: list[Content], room: int) -> Content | None:
    return next((choice for choice in choices if choice.cell_length <= room), None)


def _view(snapshot: Snapshot, paused: bool) -> View:
    engine = snapshot.engine
    # A model given by its path is known by its folder's name.
    model = engine.model
    if model and model.startswith("/"):
        model = model.rstrip("/").rpartition("/")[2]
    version = f"vLLM {engine.vllm}" if engine.vllm else None
    names = tuple(plain(name, 60) for name in (snapshot.profile, model, version, engine.device) if name)
    run = snapshot.run
    since = figures.age(snapshot.now - engine.since) if engine.since else ""
    seen = snapshot.metrics.age_s
    stale = f"metrics {figures.age(seen)} old" if seen is not None and seen > STALE_S else ""
    if run is None:
        return View(names, engine.state, since, None, 0.0, "", paused, stale, not snapshot.session_id)
    done = run.ok + run.failed + run.cancelled
    share = done / run.total if run.total else 0.0
    tail = f"{done}/{run.total} {_time(run, snapshot.now)}"
    return View(names, engine.state, since, plain(run.recording, 32), share, tail, paused, stale)


def _time(run: LiveRun, now: float) -> str:
    if run.state != "running":
        return run.state
    if run.idle_until is not None and (gap := run.idle_until - now) >= 1:
        return f"idle, next request in {figures.clock(gap)}"
    return f"{figures.clock(run.elapsed_s)} so far" if run.eta_s is None else f"{figures.clock(run.eta_s)} left"


def _names(names: tuple[str, ...], room: int) -> Content:
    """As many of the names as fit beside the state, never a part of one."""
    line = Content.styled("vtune", "bold $primary")
    for index, name in enumerate(names):
        longer = Content.assemble(
            line, "  " if index == 0 else (" · ", "$faint"), (name, "bold" if index == 0 else "$dim")
        )
        if longer.cell_length > room:
            break
        line = longer
    return line


def _engine(view: View) -> Content:
    glyph, word, style = ("○", "opening", "$dim") if view.opening else STATES[view.state]
    pause = (("⏸ drawing paused", "bold $warning"), "   ") if view.paused else ()
    stale = ((f"▲ {view.stale}", "$warning"), "  ") if view.stale else ()
    return Content.assemble(*pause, *stale, (f"{glyph} {word}", style), (f" {view.age}" if view.age else "", "$dim"))


def _progress(view: View, cells: int) -> list[Content]:
    """The replay's progress, the widest form first; nothing when none runs."""
    if view.run is None:
        return []
    cells = max(6, min(_BAR_WIDEST, cells))
    full = round(view.share * cells)
    bar = Content.assemble(("━" * full, "$primary"), ("─" * (cells - full), "$faint"))
    mark, count = ("▶ ", "$primary"), view.tail.split(" ")[0]
    return [
        Content.assemble(mark, f"{view.run} ", bar, f" {view.tail}"),
        Content.assemble(mark, bar, f" {view.tail}"),
        Content.assemble(mark, view.tail),
        Content.assemble(mark, count),
    ]
