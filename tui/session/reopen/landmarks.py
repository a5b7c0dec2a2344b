"""The moments of a session that a person looks for: engines that start or fail, changes, runs, warnings."""

from dataclasses import dataclass
from typing import Any, Literal

from tui.session.journal import Event
from tui.session.state import State

Kind = Literal["engine", "trouble", "change", "run", "ran", "end"]

_READY = {"ready": "is ready", "attached": "is attached"}
_BROKEN = {"failed": "failed to start", "died": "died", "unreachable": "can't be reached"}


@dataclass(frozen=True, slots=True)
class Landmark:
    """`number`: of its event, from 0; `at`: epoch seconds; `words` may quote what the journal holds."""

    number: int
    at: float
    kind: Kind
    words: str
    begins: bool = False  # an engine that starts, a run that begins


def landmark(number: int, at: float, event: Event, state: State) -> Landmark | None:
    """What event `number` is to a person; `state` has been folded up to it. None: nothing to stop at."""
    finder = _FINDERS.get(event.get("e", ""))
    found = finder(event, state) if finder is not None else None
    return Landmark(number, at, *found, begins=event["e"] in ("launch", "run-state")) if found else None


def _launch(event: Event, state: State) -> tuple[Kind, str]:
    ahead = " ahead" if event.get("ahead") else ""
    return "engine", f"engine {event['n']} starts{ahead}"


def _engine(event: Event, state: State) -> tuple[Kind, str] | None:
    word, n = event["state"], event["n"]
    if word in _BROKEN:
        why = f": {event['what']}" if event.get("what") else ""
        return "trouble", f"engine {n} {_BROKEN[word]}{why}"
    return ("engine", f"engine {n} {_READY[word]}") if word in _READY else None


def _lever(event: Event, state: State) -> tuple[Kind, str]:
    return "change", f"asked for {event['name']} {event['value']}"


def _run_state(event: Event, state: State) -> tuple[Kind, str] | None:
    if event["state"] != "running":
        return None
    label = state.runs[event["n"]].label
    return "run", f"run {event['n']} begins" + (f": {label}" if label else "")


def _run_end(event: Event, state: State) -> tuple[Kind, str]:
    return "ran", f"run {event['n']} ends: {event.get('state', 'done')}"


def _notice(event: Event, state: State) -> tuple[Kind, str] | None:
    return ("trouble", str(event["what"])) if event["level"] != "info" else None


def _close(event: Event, state: State) -> tuple[Kind, str]:
    return "end", "the session was closed"


_FINDERS: dict[str, Any] = {
    "launch": _launch,
    "engine": _engine,
    "lever": _lever,
    "run-state": _run_state,
    "run-end": _run_end,
    "notice": _notice,
    "close": _close,
}
