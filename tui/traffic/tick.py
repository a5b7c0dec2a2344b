"""What a running replay tells about ten times a second: counts and states, never a token.

A tick is self-contained. It may be dropped when its reader is slow or suspended: all but
`finished` is a state, and what a dropped tick had in `finished` comes again in the next.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from tui.traffic.outcome import Reuse


@dataclass(frozen=True, slots=True)
class Finished:
    """A request that ended, as far as the screen needs it; seconds, None where unknown."""

    id: str
    group: str | None
    status: Literal["ok", "failed", "cancelled"]
    reuse: Reuse
    at_s: float  # when it ended, from the start of the run
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    error_kind: str | None = None
    due_s: float | None = None
    sent_s: float | None = None
    queue_s: float | None = None  # in the engine, as it reported

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FINISHED}


class InFlight(NamedTuple):  # a tick has up to 256 of them, and making one delays sending
    """A request between due and its end; times in seconds from the start of the run."""

    id: str
    group: str | None
    due_s: float
    sent_s: float | None  # None: due, but waiting for a free place or connection
    first_s: float | None  # None: no content yet


@dataclass(frozen=True, slots=True)
class Tick:
    at_s: float
    total: int
    sent: int
    ok: int
    failed: int
    cancelled: int
    running: int  # sent and not ended
    waiting: int  # due and not sent
    content_chunks: int  # content events so far, over all requests
    output_tokens: int  # of the requests that ended, from usage
    max_lag_s: float  # largest send lag so far
    dropped: int  # ticks dropped so far
    paused: bool = False
    next_due_s: float | None = None  # nothing is in flight, and this is when the next request is due; None: not so
    finished: tuple[Finished, ...] = ()
    in_flight: tuple[InFlight, ...] = ()  # at most 256, the oldest

    def to_json(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in _TICK}
        row["finished"] = [one.to_json() for one in self.finished]
        row["in_flight"] = [one._asdict() for one in self.in_flight]
        return row

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> "Tick":
        values = dict(row)
        values["finished"] = tuple(Finished(**f) for f in row.get("finished", ()))
        values["in_flight"] = tuple(InFlight(**f) for f in row.get("in_flight", ()))
        return cls(**values)


# `asdict` would copy every value, which costs a sender its punctuality.
_TICK, _FINISHED = (tuple(f.name for f in fields(kind)) for kind in (Tick, Finished))
