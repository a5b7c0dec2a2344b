"""How far the cold requests of one arm may lie from another arm's by noise alone, where each replay has only one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tui.session.compare import chance
from tui.session.compare.verdict import LEVEL


@dataclass(frozen=True, slots=True)
class Floor:
    """`ratio` is cold / others (geometric means); equal arms lie in `band` in 95 % of comparisons."""

    ratio: float
    band: tuple[float, float]
    n_cold: int
    n_others: int

    @property
    def within(self) -> bool:
        return self.band[0] <= self.ratio <= self.band[1]


def floor(
    cold: Sequence[float], others: Sequence[Sequence[float]], beside: Sequence[Sequence[float]] = ()
) -> Floor | None:
    """`cold`: seconds, one a replay of an arm; `others`: per replay of the baseline its requests of the same length.

    `beside`: per replay of the arm its other requests, which show as well how far two replays of an arm differ.
    In logarithms a request has noise of its own, seen between the requests of a replay, and every replay has some
    that its requests share, seen between replays. Their mean squares make the variance of the difference; its
    degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946), so that two replays of each arm, which say
    little about how replays differ, give a wide band where it is they that differ.
    None with fewer than two replays, or three requests in each.
    """
    sizes = [len(replay) for replay in others]
    if len(cold) < 2 or len(others) < 2 or min(sizes) < 3:
        return None
    logs = [np.log(replay) for replay in others]
    peers = [np.log(replay) for replay in beside if len(replay) >= 3]
    mean = float(np.mean([part.mean() for part in logs]))
    half = _half_width(logs, peers if len(peers) > 1 else [], len(cold))
    ratio = math.exp(float(np.mean(np.log(cold))) - mean)
    return Floor(ratio, (math.exp(-half), math.exp(half)), len(cold), sum(sizes))


def _half_width(logs: Sequence[np.ndarray], peers: Sequence[np.ndarray], cold: int) -> float:
    replays, every = len(logs), sum(len(part) for part in logs)
    size, free = every / replays, every - replays
    own = sum(float(((part - part.mean()) ** 2).sum()) for part in logs) / free
    means = [np.array([part.mean() for part in arm]) for arm in (logs, peers) if arm]
    between_free = sum(len(of_arm) - 1 for of_arm in means)
    between = sum(float(((of_arm - of_arm.mean()) ** 2).sum()) for of_arm in means) / between_free
    # A mean over a replay holds 1 / size of the own noise already.
    weight = 1 / cold + 1 / replays
    parts = (between * weight, max(0.0, own * (1 / cold + 1 / every - weight / size)))
    variance = sum(parts)
    if not variance:
        return 0.0
    df = variance**2 / (parts[0] ** 2 / between_free + parts[1] ** 2 / free)
    return chance.t_quantile(1 - LEVEL, max(1, math.floor(df + 1e-9))) * math.sqrt(variance)
