"""How long a run lasted, how much was in flight, and what came through."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tui.traffic.outcome import Outcome


def end_s(outcome: Outcome) -> float:
    """The last moment known of a request: its last content, else its first, its sending, its being due."""
    for part in (outcome.e2e_s, outcome.ttft_s):
        if part is not None:
            return outcome.due_s + part
    return outcome.sent_s if outcome.sent_s is not None else outcome.due_s


def last_end_s(outcomes: Sequence[Outcome]) -> float | None:
    return max((end_s(o) for o in outcomes if o.sent_s is not None), default=None)


def duration_s(outcomes: Sequence[Outcome], end: Mapping[str, Any]) -> float | None:
    """First due to last end, over the requests that were sent; None without any.

    A request that failed does not say when it gave up, so with failures the replay's own end counts as well.
    """
    sent = [o for o in outcomes if o.sent_s is not None]
    if not sent:
        return None
    last = max(end_s(o) for o in sent)
    if any(o.status == "failed" for o in sent):
        last = max(last, end.get("duration_s") or 0.0)
    return last - min(o.due_s for o in sent)


def in_flight(outcomes: Sequence[Outcome], duration: float | None) -> dict[str, Any]:
    """Mean over the time of the run, and peak, of requests between written and last content; `idle_s` is how long
    between the first and the last there was none."""
    spans = [(o.sent_s, end_s(o)) for o in outcomes if o.sent_s is not None and end_s(o) > o.sent_s]
    if not spans or not duration:
        return {"mean": None, "peak": None, "idle_s": None}
    # An end sorts before a start at the same moment: one follows the other.
    edges = sorted([(end, -1) for _, end in spans] + [(start, 1) for start, _ in spans])
    now = peak = 0
    idle, last = 0.0, edges[0][0]
    for at, step in edges:
        idle += 0.0 if now else at - last
        now, last = now + step, at
        peak = max(peak, now)
    return {"mean": sum(end - start for start, end in spans) / duration, "peak": peak, "idle_s": idle}


def throughput(outcomes: Sequence[Outcome], duration: float | None) -> dict[str, Any]:
    """Of the requests that succeeded, over the whole duration; tokens from their `usage`."""
    ok = [o for o in outcomes if o.status == "ok"]
    totals = {
        "requests_per_s": len(ok),
        "prompt_tokens_per_s": _sum(o.prompt_tokens for o in ok),
        "output_tokens_per_s": _sum(o.output_tokens for o in ok),
    }
    return {name: total / duration if total is not None and duration else None for name, total in totals.items()}


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
