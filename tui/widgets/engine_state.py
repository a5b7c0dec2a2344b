"""How each state of the engine looks: a glyph, words and a style, so that colour is never alone."""

from tui.session.snapshot import EngineState, Snapshot

STATES: dict[EngineState, tuple[str, str, str]] = {
    "none": ("○", "no engine", "$dim"),
    "starting": ("◐", "starting", "$warning"),
    "warming": ("◕", "warming up", "$warning"),
    "ready": ("●", "ready", "$success"),
    "parked": ("◌", "parked, another comes", "$warning"),  # for a moment, while the next one takes over
    "stopping": ("◑", "stopping", "$warning"),
    "stopped": ("■", "stopped", "$dim"),
    "failed": ("✕", "failed to start", "bold $error"),
    "died": ("✕", "died", "bold $error"),
    "attached": ("◆", "attached", "$success"),
    "unreachable": ("?", "unreachable", "bold $error"),
}
COMING_UP: frozenset[EngineState] = frozenset({"starting", "warming", "parked", "stopping"})
BROKEN: frozenset[EngineState] = frozenset({"failed", "died", "unreachable"})


def serves(snapshot: Snapshot) -> bool:
    """Whether a replay could be started: an engine is there, none runs, and the session is not one to be read only."""
    return snapshot.engine.state in ("ready", "attached") and snapshot.run is None and not snapshot.kept
