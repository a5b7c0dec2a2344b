"""The main screen: asks on the left, happens in the middle, meant at the bottom."""

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget

from tui.screens.actions import BINDINGS, useful
from tui.screens.hands import Hands
from tui.screens.layout import AREAS, PANELS, Stage, arrange
from tui.session.controls import Controls
from tui.session.snapshot import EMPTY, Notice, RunView, Snapshot
from tui.widgets.acceptance import Acceptance
from tui.widgets.areas import Areas
from tui.widgets.engine_state import BROKEN
from tui.widgets.failure import FailureView
from tui.widgets.header import Header
from tui.widgets.hint import Hint
from tui.widgets.key_names import key
from tui.widgets.keys import Keys
from tui.widgets.kv import KvCache
from tui.widgets.lever_list import LeverList
from tui.widgets.levers import Levers
from tui.widgets.notice import NoticeLine
from tui.widgets.numbers import Numbers
from tui.widgets.plain import plain
from tui.widgets.prefix import PrefixHits
from tui.widgets.recorder_line import RecorderLine
from tui.widgets.requests import Requests
from tui.widgets.runs import Runs
from tui.widgets.startup import Startup
from tui.widgets.ttft import Ttft


class Dashboard(Screen[None]):
    """Draws the snapshot it is shown, and hands keys to `Hands`."""

    AUTO_FOCUS = ""
    BINDINGS = BINDINGS

    def __init__(self, controls: Controls) -> None:
        super().__init__()
        self._snapshot = EMPTY
        self._drawn = EMPTY
        self._begun = False
        self._paused = False
        self._area = "ttft"
        self._maximised = False
        self._looked_past: tuple[str, float] | None = None  # the engine state whose view was left by hand
        self.hands = Hands(self.app, controls, lambda: self._snapshot, self.say)

    def compose(self) -> ComposeResult:
        header, levers, numbers, requests = (
            Header(id="header"),
            Levers(id="levers"),
            Numbers(id="numbers"),
            Requests(id="requests"),
        )
        panels = Ttft(id="ttft"), KvCache(id="kv"), PrefixHits(id="prefix"), Acceptance(id="acceptance")
        startup, failure = Startup(id="startup"), FailureView(id="failure")
        runs, notice = Runs(id="runs"), NoticeLine(id="notice")
        # Each shows itself when it has something; the notice lies over the end of what is above it, and moves nothing.
        self._lines = notice, Hint(id="hint"), RecorderLine(id="recorder")
        self._parts = (header, levers, *panels, startup, failure, numbers, requests, runs)
        yield header
        yield Areas(id="areas")
        with Horizontal(id="middle"):
            yield levers
            with Vertical(id="centre"):
                yield numbers
                yield Container(*panels, id="panels")
                yield from (startup, failure, requests)
        yield from (runs, *self._lines)
        yield Keys(id="keys")

    def on_mount(self) -> None:
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The parts of the parts are there now: draw what came meanwhile."""
        self._begun, self._drawn = True, self._snapshot
        self._arrange()
        # The levers are where keys act; on a small screen the numbers come first.
        self.query_one("#ttft" if self.has_class("-one") else "#levers").focus()

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot; while paused, or behind another screen, it is only kept for the keys."""
        known, self._snapshot = self._snapshot, snapshot
        if _offers(known) != _offers(snapshot):
            self.refresh_bindings()
        if self._paused or not self._begun or self.app.screen is not self:
            return
        before, self._drawn = self._drawn, snapshot
        if len(before.runs) < len(snapshot.runs):
            self._tell_run(snapshot.runs[-1])
        if before.engine.state != snapshot.engine.state:
            self._tell_stage()
        elif (before.run is None) != (snapshot.run is None):
            self._arrange()
        else:
            self._draw()

    def on_screen_resume(self) -> None:
        if self._drawn is not self._snapshot:
            self.show(self._snapshot)

    def _draw(self) -> None:
        for part in self._parts:
            if part.display:
                part.show(self._snapshot)
        for line in self._lines:
            line.show(self._snapshot)

    def _tell_run(self, run: RunView) -> None:
        """What a run came to, where its row is not on screen."""
        if not self.query_one(Runs).display:
            what = f"run {run.number}, {plain(run.label, 60)}, ended"
            self.hands.tell("info", what, run.verdict or f"{key('area.runs')} shows its row")

    def say(self, notice: Notice, lasts_s: float | None = None) -> None:
        self.query_one(NoticeLine).say(notice, self._snapshot, lasts_s)

    # Layout

    @property
    def place(self) -> str:
        """Where the person is, for the help: an area, or the view of a start or a failure."""
        return self._area if self._stage == "panels" or self._area not in PANELS else self._stage

    @property
    def _stage(self) -> Stage:
        engine = self._snapshot.engine
        if self._looked_past == (engine.state, engine.since):
            return "panels"
        if engine.state in BROKEN and engine.failure is not None:
            return "failure"
        return "startup" if engine.state in ("starting", "warming") else "panels"

    def _tell_stage(self) -> None:
        """An engine that starts or fails comes to the front, also where one area is shown at a time."""
        if self._stage != "panels" and self.has_class("-one") and self._area not in PANELS:
            self._area = PANELS[0]
        self._arrange()

    def _arrange(self) -> None:
        layout = arrange(
            self.size.width, self.size.height, self._stage, self._area, self._maximised, self._snapshot.run is not None
        )
        for name in ("-wide", "-medium", "-narrow"):
            self.set_class(layout.size == name, name)
        self.set_class(layout.one, "-one")
        self.set_class(self.size.height < 16, "-low")
        self.set_class(self.size.height >= 50, "-tall")
        self.set_class(layout.two_line_header, "-two-lines")
        self.query_one(Areas).mark(self._area)
        for name in ("areas", "middle", "centre", "panels", "startup", "failure", "numbers", *AREAS):
            self.query_one(f"#{name}").display = name in layout.shown
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        if self._begun:
            self._arrange()

    @on(events.DescendantFocus)
    def _focused(self, event: events.DescendantFocus) -> None:
        for node in event.widget.ancestors_with_self:
            if isinstance(node, Widget) and node.id in AREAS:
                self._area = node.id

    # Keys

    def offers(self, binding: Binding) -> bool:
        """Whether the bottom line names this key now; pressed, it says what it can't do."""
        return useful(binding.id or "", self._snapshot, self.hands.pending)

    def action_hands(self, name: str) -> None:
        self.run_worker(getattr(self.hands, name)(), name=name, group="hands")

    def action_undo(self) -> None:
        self.hands.undo()

    def action_drop(self) -> None:
        self.hands.drop()

    def action_copy(self) -> None:
        run = self.query_one(Runs).selected
        self.run_worker(self.hands.copy(self._area, run), name="copy", group="hands")

    def action_copy_command(self) -> None:
        self.hands.copy_command()

    def action_baseline(self) -> None:
        run = self.query_one(Runs).selected
        self.hands.baseline(run.number if run else None)

    def action_pause(self) -> None:
        self._paused = not self._paused
        self.query_one(Header).pause(self._paused, self._snapshot)
        if not self._paused:
            self.show(self._snapshot)
            self._arrange()

    def action_area(self, name: str) -> None:
        """Bring an area to the front and give it the focus."""
        self._area = name
        engine = self._snapshot.engine
        if name in PANELS and self._stage != "panels":
            self._looked_past = (engine.state, engine.since)
        self._arrange()
        self.query_one(f"#{name}").focus()

    def action_next(self, step: int) -> None:
        self.action_area(AREAS[(AREAS.index(self._area) + step) % len(AREAS)])

    def action_maximise(self) -> None:
        self._maximised = not self._maximised
        self._arrange()
        self.query_one(f"#{self._area}").focus()

    def action_back(self) -> None:
        if self._maximised:
            self.action_maximise()
        elif not self.query_one(Hint).dismiss():
            self.query_one(NoticeLine).dismiss()

    def on_click(self, event: events.Click) -> None:
        """A second click on an area shows it alone, or all again; on a lever it is another toggle."""
        if event.chain != 2 or event.widget is None or isinstance(event.widget, LeverList):
            return
        for node in event.widget.ancestors_with_self:
            if isinstance(node, Widget) and node.id in AREAS:
                self._area = node.id
                self.action_maximise()

    @on(LeverList.Set)
    def _set_lever(self, event: LeverList.Set) -> None:
        self.hands.set_lever(event.name, event.value)


def _offers(snapshot: Snapshot) -> tuple[object, ...]:
    """What decides which keys are offered."""
    return (
        bool(snapshot.pending), snapshot.run is not None, bool(snapshot.runs), snapshot.engine.state,
        snapshot.recorder is not None, bool(snapshot.engine.argv),
    )  # fmt: skip
