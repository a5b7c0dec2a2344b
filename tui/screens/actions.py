"""The keys of the dashboard: each with the name by which keys.yaml knows it, and what it does."""

from textual.binding import Binding

from tui.screens.layout import AREAS
from tui.session.snapshot import Snapshot
from tui.widgets.areas import NAMES
from tui.widgets.engine_state import BROKEN


def _key(keys: str, action: str, word: str, id: str, tells: str, show: bool = True) -> Binding:
    return Binding(keys, action, word, show=show, id=id, tooltip=tells)


BINDINGS = [
    _key("r", "hands('replay')", "replay", "replay", "replay the recording on the running engine"),
    _key("a", "hands('apply')", "apply", "apply", "restart the engine with the changed levers"),
    _key("u", "undo", "undo", "undo", "take back the last change of a lever that is not applied"),
    _key("x", "hands('cancel')", "end replay", "cancel", "end the running replay; asks how"),
    _key("b", "baseline", "baseline", "baseline", "compare the other runs to the run under the cursor"),
    _key("e", "hands('export')", "export", "export", "write the report of this session"),
    _key("t", "hands('record')", "record", "record", "put the recorder in front of the engine, or stop it"),
    _key("y", "copy", "copy", "copy", "copy a number of this area"),
    _key("m", "maximise", "maximise", "maximise", "show this area alone, or all again"),
    _key("p", "pause", "pause", "pause", "stop drawing; nothing else stops"),
    _key("o", "hands('choose_recording')", "recording", "recording", "choose the recording that is replayed"),
    _key("R", "hands('restart')", "restart", "restart", "start the engine again, with the levers as asked"),
    _key("U", "drop", "drop changes", "drop", "drop every change that is not applied"),
    _key("Y", "copy_command", "copy command", "copy-command", "copy the engine's command line"),
    _key("E", "hands('end_engine')", "end engine", "end-engine", "end the engine and free its memory; asks first"),
    *(
        _key(str(number), f"area('{name}')", NAMES[name][0], f"area.{name}", f"go to {NAMES[name][0]}", show=False)
        for number, name in enumerate(AREAS, 1)
    ),
    _key("tab", "next(1)", "next area", "next", "go to the next area", show=False),
    _key("shift+tab", "next(-1)", "area before", "previous", "go to the area before", show=False),
    _key("escape", "back", "back", "back", "hide the notice, or show all areas again", show=False),
]


def useful(action: str, snapshot: Snapshot, pending: bool) -> bool:
    """Whether the key of `action` would do something now; the others are not offered, but say why when pressed."""
    state = snapshot.engine.state
    serves = state in ("ready", "attached")
    if action in ("undo", "drop", "apply"):
        return pending
    if action in ("lever.toggle", "lever.edit"):
        return state not in ("attached", "unreachable")  # an engine that vtune only watches
    if action in ("copy", "maximise", "pause", "recording") and state in BROKEN:
        return False  # the room is for what brings the engine back
    if action == "cancel":
        return snapshot.run is not None
    if action == "replay":
        return serves and snapshot.run is None
    if action == "baseline":
        return bool(snapshot.runs)
    if action == "restart":
        return state in BROKEN or state in ("stopped", "ready")
    if action == "end-engine":
        return state in ("ready", "starting", "warming")
    if action == "copy-command":
        return bool(snapshot.engine.argv)
    return action != "record" or serves or snapshot.recorder is not None
