"""Requests, their errors, and the distributions of their times. Latencies are of the ones that succeeded."""

from collections.abc import Sequence
from typing import Any

from tui.session.stats import dist
from tui.traffic.outcome import REUSES, Outcome


def succeeded(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [o for o in outcomes if o.status == "ok"]


def requests(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many were sent and what became of them; a request cancelled before it was written was not sent."""
    counts = {status: sum(o.status == status for o in outcomes) for status in ("ok", "failed", "cancelled")}
    unsent = sum(o.status == "cancelled" and o.sent_s is None for o in outcomes)
    ended = counts["ok"] + counts["failed"]
    error_rate = counts["failed"] / ended if ended else None
    return {"sent": len(outcomes) - unsent, **counts, "error_rate": error_rate, "errors": errors(outcomes)}


def errors(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Failures by kind, the most frequent first, each with its first example."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            kinds.setdefault(outcome.error_kind or "unknown", []).append(outcome)
    rows = [
        {"kind": kind, "count": len(found), "example": next((o.error for o in found if o.error), None)}
        for kind, found in kinds.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["kind"]))


def latencies(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    ok = succeeded(outcomes)
    by_class = {reuse: dist(o.ttft_s for o in ok if o.reuse == reuse) for reuse in REUSES}
    return {
        "ttft_s": {"all": dist(o.ttft_s for o in ok), **by_class},
        "tpot_s": dist(o.tpot_s for o in ok),
        "itl_s": dist(gap for o in ok for gap in o.itl_s),
        "e2e_s": dist(o.e2e_s for o in ok),
        "output_tokens": dist(o.output_tokens for o in ok),
    }


def server(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The engine's own times per request (--enable-per-request-metrics)."""
    ok = succeeded(outcomes)
    return {
        "queue_s": dist(o.server_queue_s for o in ok),
        "prefill_s": dist(o.server_prefill_s for o in ok),
        "decode_s": dist(o.server_decode_s for o in ok),
    }


def groups(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Per group of the recording; requests without a group are in none."""
    names = sorted({o.group for o in outcomes if o.group is not None})
    return {name: _group([o for o in succeeded(outcomes) if o.group == name]) for name in names}


def _group(ok: list[Outcome]) -> dict[str, Any]:
    return {
        "n": len(ok),
        "ttft_s": dist(o.ttft_s for o in ok),
        "tpot_s": dist(o.tpot_s for o in ok),
        "e2e_s": dist(o.e2e_s for o in ok),
        "acceptance_rate": acceptance(ok),
    }


def acceptance(outcomes: Sequence[Outcome]) -> float | None:
    """Accepted / proposed draft tokens of these requests, as the engine told with each answer."""
    told = [o for o in outcomes if o.draft_tokens is not None and o.accepted_tokens is not None]
    proposed = sum(o.draft_tokens or 0 for o in told)
    return sum(o.accepted_tokens or 0 for o in told) / proposed if proposed else None
