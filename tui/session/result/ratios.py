"""This run against the baseline: the same requests, each in one class, in both."""

from collections.abc import Iterable, Mapping
from typing import Any

from tui.metrics.window import ratio
from tui.session.stats import Dist, dist
from tui.traffic.outcome import REUSES, Outcome, Reuse
from tui.traffic.tick import Finished

Request = Outcome | Finished


def paired_ratios(
    requests: Iterable[Request], result: Mapping[str, Any], base: Iterable[Request], base_result: Mapping[str, Any]
) -> dict[str, float | None]:
    """metric -> this / baseline, over the requests that succeeded in both; None where too few or unknown.

    Keys: ``ttft_s.p50``, ``ttft_s.p95``, ``ttft_s.cold.p50``, ..., ``tpot_s.p50``, ``e2e_s.p50`` and
    ``throughput.output_tokens_per_s``. A request has the class that it had where prefix caching was
    on (this run first), so that cold and warm compare the same requests.
    """
    ours, theirs = _succeeded(requests), _succeeded(base)
    shared = [i for i in ours if i in theirs]
    caching = theirs if _on(base_result) and not _on(result) else ours
    classes = {i: caching[i].reuse for i in shared}
    ratios: dict[str, float | None] = {}
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        ratios |= _quantile_ratios(name, _dist(name, shared, ours), _dist(name, shared, theirs))
    for reuse in REUSES:
        ids = _of_class(reuse, classes)
        ratios |= _quantile_ratios(f"ttft_s.{reuse}", _dist("ttft_s", ids, ours), _dist("ttft_s", ids, theirs))
    speed = "output_tokens_per_s"
    ratios[f"throughput.{speed}"] = ratio(result["throughput"][speed], base_result["throughput"][speed])
    return ratios


def _succeeded(requests: Iterable[Request]) -> dict[str, Request]:
    return {r.id: r for r in requests if r.status == "ok"}


def _on(result: Mapping[str, Any]) -> bool:
    return result["prefix_cache"]["state"] == "on"


def _of_class(reuse: Reuse, classes: Mapping[str, Reuse]) -> list[str]:
    return [i for i, found in classes.items() if found == reuse]


def _dist(name: str, ids: Iterable[str], requests: Mapping[str, Request]) -> Dist:
    return dist(getattr(requests[i], name) for i in ids)


def _quantile_ratios(name: str, ours: Dist, theirs: Dist) -> dict[str, float | None]:
    return {f"{name}.{q}": ratio(ours[q], theirs[q]) for q in ("p50", "p95")}
