"""Where a reopened session stands: what the transport bar draws, frozen like a snapshot."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

from tui.session.reopen.landmarks import Landmark


@dataclass(frozen=True, slots=True)
class Span:
    """An engine that came up, or a run, from `start` to `end` (epoch seconds)."""

    start: float
    end: float
    kind: Literal["engine", "run"]


@dataclass(frozen=True, slots=True)
class Position:
    """Times are epoch seconds; `loading` is the share of the journal that was read, None once it is."""

    session: str
    created: str  # when the session began, as its journal says; empty where it does not
    start: float = 0.0
    end: float = 0.0
    at: float = 0.0
    clock: str = ""  # what the clock showed at `at`, where the session ran
    playing: bool = False
    speed: float = 1.0
    live: bool = False  # another vtune writes it now
    following: bool = False  # shows the newest of it
    closed: bool = False  # its journal says that it was ended in order
    unread: int = 0  # events that could not be understood
    loading: float | None = 0.0
    here: Landmark | None = None  # the last one before `at`
    spans: tuple[Span, ...] = ()
    troubles: tuple[float, ...] = ()


def spans(landmarks: list[Landmark], end: float) -> tuple[Span, ...]:
    """Engines from their start to ready or failed, runs from begin to end; what has no end lasts to the journal's."""
    found: list[Span] = []
    opened: dict[Literal["engine", "run"], float] = {}
    for one in landmarks:
        if one.kind == "run":
            opened["run"] = one.at
        elif one.kind == "engine" and one.begins:
            opened["engine"] = one.at
        elif one.kind == "ran" and "run" in opened:
            found.append(Span(opened.pop("run"), one.at, "run"))
        elif one.kind in ("engine", "trouble") and "engine" in opened:
            found.append(Span(opened.pop("engine"), one.at, "engine"))
    found += [Span(begun, end, kind) for kind, begun in opened.items()]
    return tuple(sorted(found, key=lambda span: span.start))


def zone(created: str) -> tzinfo:
    """The time zone in which the session ran; where its journal does not say, the reader's."""
    try:
        found = datetime.fromisoformat(created).tzinfo
    except ValueError:
        found = None
    return found or datetime.now().astimezone().tzinfo or UTC


def local(created: str) -> str:
    """``2026-09-21 14:00`` as the clock showed where the session ran."""
    try:
        return datetime.fromisoformat(created).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return created
