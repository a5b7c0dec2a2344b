"""The palette's entries, each "noun: verb"."""

from collections.abc import Iterable, Iterator
from functools import partial

from textual.app import SystemCommand

from tui import paths
from tui.screens.actions import useful
from tui.screens.dashboard import Dashboard
from tui.session.snapshot import Snapshot
from tui.traffic.recording import SUFFIXES
from tui.widgets.areas import NAMES
from tui.widgets.lever_list import LeverList, in_order, toggled
from tui.widgets.plain import plain


def commands(dashboard: Dashboard, snapshot: Snapshot) -> Iterable[SystemCommand]:
    """What can be done now; levers with the value that they would get."""
    yield from _replay(dashboard, snapshot)
    if useful("lever.toggle", snapshot, dashboard.hands.pending):
        yield from _levers(dashboard, snapshot)
    yield from _engine(dashboard, snapshot)
    yield from _recordings(dashboard, snapshot)
    for run in snapshot.runs:
        title = f"run: {run.number} as baseline"
        yield SystemCommand(title, plain(run.label), partial(dashboard.hands.baseline, run.number))
    yield _hands(dashboard, "report: export", "export", "Write the report of this session")
    yield SystemCommand("copy: a number", "Choose one of this area", dashboard.action_copy)
    yield SystemCommand("drawing: pause or go on", "Stop drawing; nothing else stops", dashboard.action_pause)
    yield SystemCommand(
        "area: maximise or restore", "Show this area alone, or all again", dashboard.action_maximise
    )
    for area, (name, _) in NAMES.items():
        yield SystemCommand(f"area: {name}", "Go there", partial(dashboard.action_area, area))


def _hands(dashboard: Dashboard, title: str, name: str, tells: str) -> SystemCommand:
    return SystemCommand(title, tells, partial(dashboard.action_hands, name))


def _replay(dashboard: Dashboard, snapshot: Snapshot) -> Iterator[SystemCommand]:
    if snapshot.run is None:
        yield _hands(dashboard, "replay: start", "replay", "Replay the recording on the running engine")
    else:
        yield _hands(dashboard, "replay: end", "cancel", "Drain or cancel the running replay")
        held = snapshot.run.state == "paused"
        tells = "Send what was put off" if held else "Send nothing more for now; the schedule waits"
        yield _hands(dashboard, "replay: go on" if held else "replay: pause", "hold", tells)


def _levers(dashboard: Dashboard, snapshot: Snapshot) -> Iterator[SystemCommand]:
    hands = dashboard.hands
    for lever in in_order(snapshot.levers):
        title = plain(lever.title)
        if (value := toggled(lever)) is not None:
            yield SystemCommand(
                f"lever: {title} {plain(value)}", plain(lever.gain), partial(hands.set_lever, lever.name, value)
            )
        edit = partial(_edit, dashboard, lever.name)
        yield SystemCommand(f"lever: {title}, type a value", plain(lever.hint), edit)
    if hands.pending:
        yield _hands(dashboard, "lever: apply changes", "apply", "Restart the engine with the changed levers")
        yield SystemCommand("lever: undo the last change", "Take it back, before it is applied", dashboard.action_undo)
        yield SystemCommand("lever: drop all changes", "Take back what is not applied", dashboard.action_drop)


def _edit(dashboard: Dashboard, name: str) -> None:
    dashboard.action_area("levers")
    dashboard.query_one(LeverList).edit(name)


def _engine(dashboard: Dashboard, snapshot: Snapshot) -> Iterator[SystemCommand]:
    yield _hands(dashboard, "engine: restart", "restart", "Start the engine again with the levers as asked")
    if useful("end-engine", snapshot, dashboard.hands.pending):
        yield _hands(dashboard, "engine: end", "end_engine", "Free its memory; restart starts it again")
    if snapshot.engine.argv:
        yield SystemCommand(
            "engine: copy command line", "As a line for a POSIX shell", dashboard.action_copy_command
        )


def _recordings(dashboard: Dashboard, snapshot: Snapshot) -> Iterator[SystemCommand]:
    if snapshot.recorder is None:
        yield _hands(dashboard, "recorder: start", "record", "An address that records what clients ask the engine")
    else:
        yield _hands(dashboard, "recorder: stop", "record", "End it; what it recorded is replayed next")
    yield _hands(dashboard, "recording: choose", "choose_recording", "The recording that is replayed next")
    for name in paths.names("recordings", SUFFIXES):
        if name != snapshot.recording:
            use = partial(_use, dashboard, name)
            yield SystemCommand(f"recording: {plain(name, 60)}", "Replay this one next", use)


def _use(dashboard: Dashboard, name: str) -> None:
    dashboard.run_worker(dashboard.hands.use_recording(name), name="recording", group="hands")
