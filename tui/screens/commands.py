"""The palette's entries, each "noun: verb"."""

from collections.abc import Iterable
from functools import partial

from textual.app import SystemCommand

from tui.screens.dashboard import Dashboard
from tui.session.snapshot import Snapshot
from tui.widgets.lever_list import in_order, toggled
from tui.widgets.plain import plain


def commands(dashboard: Dashboard, snapshot: Snapshot) -> Iterable[SystemCommand]:
    """What can be done now; levers with the value that they would get."""

    def hands(title: str, name: str, tells: str) -> SystemCommand:
        return SystemCommand(title, tells, partial(dashboard.action_hands, name))

    yield hands("replay: start", "replay", "Replay the recording on the running engine")
    if snapshot.run is not None:
        yield hands("replay: end", "cancel", "Drain or cancel the running replay")
    for lever in in_order(snapshot.levers):
        if (value := toggled(lever)) is not None:
            title = f"lever: {plain(lever.title)} {plain(value)}"
            yield SystemCommand(title, plain(lever.gain), partial(dashboard.hands.set_lever, lever.name, value))
    if snapshot.pending:
        yield hands("lever: apply changes", "apply", "Restart the engine with the pending levers")
        yield SystemCommand("lever: undo changes", "Drop every pending change", dashboard.action_undo)
    yield hands("engine: restart", "restart", "Start the engine again with the levers as asked")
    for run in snapshot.runs:
        title = f"run: {run.number} as baseline"
        yield SystemCommand(title, plain(run.label), partial(dashboard.hands.baseline, run.number))
    yield hands("report: export", "export", "Write the report of this session")
    yield SystemCommand("drawing: pause or go on", "Stop drawing; nothing else stops", dashboard.action_pause)
    yield SystemCommand(
        "area: maximise or restore", "Show the area in hand alone, or all again", dashboard.action_maximise
    )
