"""Targets of the profile, judged against a result."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tui.engine.settings import Target
from tui.traffic.outcome import Outcome

Targets = Iterable[Target | Mapping[str, Any]]

# Metrics that a single request has, by the first word of a target's path.
_OF_A_REQUEST = ("ttft_s", "tpot_s", "e2e_s")


def judge(targets: Targets, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a target; `met` is None where its value is unknown (too few samples, not reported)."""
    rows = []
    for target in _rows(targets):
        value, limit = measured(target["metric"], result), target["limit"]
        met = None
        if value is not None:
            met = value >= limit if target.get("at_least") else value <= limit
        rows.append({"name": target["name"], "limit": limit, "value": value, "met": met})
    return rows


def measured(path: str, result: Mapping[str, Any]) -> float | None:
    """The number at a dotted path of a result; None where there is none."""
    value: Any = result
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def goodput(targets: Targets, outcomes: Sequence[Outcome], duration: float | None) -> dict[str, float | None]:
    """Requests that succeeded within every time limit of the targets: their share and their rate.

    The limits on quantiles of TTFT (all classes), TPOT and E2E are taken for each request; unknown
    without any. A failed request is no good one, a cancelled one does not count.
    """
    limits = [(t["metric"].partition(".")[0], t["limit"]) for t in _rows(targets) if _for_each_request(t["metric"])]
    ended = [o for o in outcomes if o.status != "cancelled"]
    if not limits or not ended:
        return {"share": None, "requests_per_s": None}
    good = sum(o.status == "ok" and all(_kept(o, metric, limit) for metric, limit in limits) for o in ended)
    return {"share": good / len(ended), "requests_per_s": good / duration if duration else None}


def _rows(targets: Targets) -> list[Mapping[str, Any]]:
    return [asdict(t) if isinstance(t, Target) else t for t in targets]


def _for_each_request(path: str) -> bool:
    metric, *split = path.split(".")
    return metric in _OF_A_REQUEST and (metric != "ttft_s" or split[0] == "all")


def _kept(outcome: Outcome, metric: str, limit: float) -> bool:
    value = getattr(outcome, metric)
    if value is None:
        # An answer of one token has no TPOT and can't miss it; one without a first token missed its TTFT.
        return metric == "tpot_s"
    return value <= limit
