"""What another choice of rounds and requests would have shown: the hierarchical bootstrap.

Rounds are drawn first, then requests within each round, the same requests for both arms and all their
replays: pairs stay together (Efron and Tibshirani, An Introduction to the Bootstrap, chapters 8 and 13).
"""

from dataclasses import dataclass

import numpy as np

DRAWS = 2000
FEWEST_DRAWS = 400  # with thousands of requests each draw costs, and the ends of the interval hardly move
INSIDE = (0.025, 0.975)  # a 95 % interval, by percentiles
_AT_ONCE = 2_000_000  # numbers in memory
_IN_ALL = 10_000_000

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Intervals:
    """Of arm / baseline and of arm - baseline (seconds), for one quantile over the requests."""

    ratio: tuple[float, float]
    difference: tuple[float, float]


def log_quantiles(values: Array, q: float) -> Array:
    """Natural logarithm of the quantile (numpy's linear method) over the last axis."""
    return np.log(np.quantile(values, q, axis=-1))


def centre(logs: Array) -> Array:
    """Mean over replays, then over rounds: the logarithm of an arm's geometric mean. `logs`: (..., round, replay)."""
    return logs.mean(axis=(-2, -1))


def intervals(arm: Array, base: Array, q: float, rng: np.random.Generator, draws: int | None = None) -> Intervals:
    """`arm` and `base`: positive values of the same requests, shaped (rounds, replays, requests)."""
    rounds, replays, requests = base.shape
    draws = draws or max(FEWEST_DRAWS, min(DRAWS, _IN_ALL // base.size))
    ratios, differences = [], []
    step = max(1, _AT_ONCE // (rounds * replays * requests))
    for begin in range(0, draws, step):
        count = min(step, draws - begin)
        which = rng.integers(rounds, size=(count, rounds))
        index = rng.integers(requests, size=(count, rounds, 1, requests))
        ours = np.exp(centre(log_quantiles(_drawn(arm, which, index), q)))
        theirs = np.exp(centre(log_quantiles(_drawn(base, which, index), q)))
        ratios.append(ours / theirs)
        differences.append(ours - theirs)
    return Intervals(_inside(ratios), _inside(differences))


def _drawn(values: Array, which: Array, index: Array) -> Array:
    """(draws, rounds, replays, requests) of (rounds, replays, requests)."""
    chosen = values[which]
    return np.take_along_axis(chosen, np.broadcast_to(index, chosen.shape), axis=-1)


def _inside(parts: list[Array]) -> tuple[float, float]:
    low, high = np.quantile(np.concatenate(parts), INSIDE)
    return float(low), float(high)
