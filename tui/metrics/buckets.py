"""TTFT as the engine itself counts it, in buckets: all that is known of traffic that is not ours.

It runs from the request's arrival in the API server to its first token, so without the network and the wait
before it; and the buckets are wide (0.1, 0.25, 0.5, 0.75, 1, 2.5 s ...: P/v1/metrics/buckets.py of vLLM 0.32),
so a quantile is interpolated within one. Say *engine side, coarse* beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui.metrics.exposition import parse_labels

Buckets = tuple[tuple[float, int], ...]
"""(upper bound in seconds, requests up to it since the engine's start), ascending; beyond the last: unbounded."""

LABEL = "engine side, coarse"
_NAME = "vllm:time_to_first_token_seconds_bucket{"
ENOUGH = 20  # of a p95, as everywhere


def ttft_buckets(text: str) -> Buckets:
    """The buckets in a Prometheus text, all engines summed; empty where it has none."""
    found: dict[float, int] = {}
    for line in text.split("\n"):
        if not line.startswith(_NAME):
            continue
        head, _, tail = line.rpartition("}")
        try:
            bound, count = float(parse_labels(head[len(_NAME) :])["le"]), int(float(tail.split()[0]))
        except (KeyError, ValueError, IndexError):
            continue
        found[bound] = found.get(bound, 0) + count
    inside = sorted((bound, count) for bound, count in found.items() if bound != float("inf"))
    total = found.get(float("inf"))
    # JSON has no infinity: the last bound is written twice, the second time with all that came.
    return tuple(inside) if total is None or not inside else (*inside, (inside[-1][0], total))


@dataclass(frozen=True, slots=True)
class Coarse:
    """TTFT of the requests between two scrapes, seconds. None: too few, or beyond the last bucket."""

    n: int
    p50: float | None
    p95: float | None


def between(before: Buckets, after: Buckets) -> Coarse | None:
    """None where nothing can be said: no buckets, other ones, or a restart in between."""
    if not after or [bound for bound, _ in before] != [bound for bound, _ in after]:
        return None
    counts = [now - then for (_, then), (_, now) in zip(before, after, strict=True)]
    if min(counts) < 0:
        return None
    bounds = [bound for bound, _ in after]
    total = counts[-1]
    return Coarse(total, _quantile(0.5, bounds, counts, 1), _quantile(0.95, bounds, counts, ENOUGH))


def _quantile(share: float, bounds: Sequence[float], counts: Sequence[int], least: int) -> float | None:
    """Linear within the bucket, as Prometheus does it."""
    total = counts[-1]
    if total < least:
        return None
    rank = share * total
    lower, below = 0.0, 0
    for bound, count in zip(bounds[:-1], counts[:-1], strict=True):
        if count >= rank:
            return lower + (bound - lower) * ((rank - below) / (count - below) if count > below else 1.0)
        lower, below = bound, count
    return None
