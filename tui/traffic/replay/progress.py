"""The running replay's state, from which ticks are made."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from tui.traffic.outcome import Outcome
from tui.traffic.replay.answer import Answer
from tui.traffic.tick import InFlight, Tick

_SHOWN = 256
_JSON = json.JSONEncoder(separators=(",", ":"))


@dataclass(slots=True)
class _Open:
    id: str
    group: str | None
    due_ns: int
    answer: Answer


@dataclass(slots=True)
class Progress:
    """Counts and open requests; times inside are CLOCK_MONOTONIC ns, ticks count seconds from `origin_ns`."""

    total: int
    origin_ns: int = 0
    ok: int = 0
    failed: int = 0
    cancelled: int = 0
    content_chunks: int = 0
    output_tokens: int = 0
    max_lag_s: float = 0.0
    kernel_reads: int = 0
    user_reads: int = 0
    coalesced: int = 0
    late_reads: int = 0
    scan_misses: int = 0  # content events of which the byte scan and the full parse thought differently
    paused: bool = False
    pauses_ns: int = 0  # length of the pauses that are over
    expected: dict[str, int] = field(default_factory=dict)  # not due yet: schedule ns of when each will be
    # Ended, and in no tick yet; as a tick holds them, for one long tick delays sending.
    unread: list[str] = field(default_factory=list)
    _open: dict[str, _Open] = field(default_factory=dict)
    _unread: int = 0  # answers that have ended and wait to be read

    def begin(self, id: str, group: str | None, due_ns: int, answer: Answer) -> None:
        self.expected.pop(id, None)
        self._open[id] = _Open(id, group, due_ns, answer)

    def answered(self, id: str) -> None:
        """It has ended and waits to be read."""
        del self._open[id]
        self._unread += 1

    def content(self, count: int) -> None:
        self.content_chunks += count

    def finish(self, outcome: Outcome, answer: Answer, ended_ns: int) -> None:
        if self._open.pop(outcome.id, None) is None:
            self._unread -= 1
        setattr(self, outcome.status, getattr(self, outcome.status) + 1)
        self.output_tokens += outcome.output_tokens or 0
        self.content_chunks += outcome.chunks - answer.chunks  # the parse wins over the scan
        self.coalesced += outcome.coalesced
        self.late_reads += len(answer.late)
        self.scan_misses += answer.missed
        self.kernel_reads += answer.kernel_reads
        self.user_reads += answer.user_reads
        if outcome.sent_s is not None:
            self.max_lag_s = max(self.max_lag_s, outcome.sent_s - outcome.due_s)
        self.unread.append(_JSON.encode({  # as `tick.Finished` has them
            "id": outcome.id, "group": outcome.group, "status": outcome.status, "reuse": outcome.reuse,
            "at_s": (ended_ns - self.origin_ns) / 1e9, "ttft_s": outcome.ttft_s, "tpot_s": outcome.tpot_s,
            "e2e_s": outcome.e2e_s, "prompt_tokens": outcome.prompt_tokens, "cached_tokens": outcome.cached_tokens,
            "output_tokens": outcome.output_tokens, "error_kind": outcome.error_kind, "due_s": outcome.due_s,
            "sent_s": outcome.sent_s, "queue_s": outcome.server_queue_s,
        }))  # fmt: skip

    def tick(self, now_ns: int, dropped: int) -> Tick:
        """The state; what is in `unread` is for the sender of the tick to put in and clear."""
        idle = not self._open and not self._unread and self.expected and not self.paused
        waiting = sum(1 for o in self._open.values() if o.answer.sent is None)
        running = len(self._open) - waiting
        return Tick(
            at_s=(now_ns - self.origin_ns) / 1e9,
            total=self.total,
            sent=self.ok + self.failed + self.cancelled + self._unread + running,
            ok=self.ok,
            failed=self.failed,
            cancelled=self.cancelled,
            running=running,
            waiting=waiting,
            content_chunks=self.content_chunks,
            output_tokens=self.output_tokens,
            max_lag_s=self.max_lag_s,
            dropped=dropped,
            paused=self.paused,
            next_due_s=(min(self.expected.values()) + self.pauses_ns) / 1e9 if idle else None,
            in_flight=tuple(self._in_flight()),
        )

    def _in_flight(self) -> Iterator[InFlight]:
        for o in islice(self._open.values(), _SHOWN):  # insertion order: the oldest first
            sent, first = o.answer.sent, o.answer.first
            yield InFlight(
                o.id, o.group, (o.due_ns - self.origin_ns) / 1e9,
                None if sent is None else (sent - self.origin_ns) / 1e9,
                None if first is None else (first - self.origin_ns) / 1e9,
            )  # fmt: skip
