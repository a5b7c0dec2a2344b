"""DIST: how every distribution is written in results."""

import math
from collections.abc import Iterable

import numpy as np

FEWEST_P95 = 20
FEWEST_P99 = 100

Dist = dict[str, float | int | None]

# Quantile and the number of samples from which it says something.
_QUANTILES = (("p50", 0.50, 1), ("p90", 0.90, FEWEST_P95), ("p95", 0.95, FEWEST_P95), ("p99", 0.99, FEWEST_P99))


def dist(values: Iterable[float | None]) -> Dist:
    """n, mean, quantiles (numpy's linear method), min and max of what is known.

    p90 and p95 are None under 20 samples, p99 under 100; everything but n is None without any.
    """
    known = np.array([v for v in values if v is not None and math.isfinite(v)], dtype=float)
    result: Dist = {"n": int(known.size), "mean": float(known.mean()) if known.size else None}
    for name, q, fewest in _QUANTILES:
        result[name] = float(np.quantile(known, q)) if known.size >= fewest else None
    result["min"] = float(known.min()) if known.size else None
    result["max"] = float(known.max()) if known.size else None
    return result
