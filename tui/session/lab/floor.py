"""How far the cold requests of one arm may lie from another arm's by noise alone, where each replay has only one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tui.session.compare import chance
from tui.session.compare.verdict import LEVEL

Logs = Sequence[Sequence[float]]


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


def floor(cold: Sequence[float], others: Sequence[Sequence[float]]) -> Floor | None:
    """`cold`: seconds, one a replay of an arm; `others`: per replay of the baseline its requests of the same length.

    In logarithms a request has noise of its own, and every replay some that its requests share. The first is seen
    between the requests of a replay, the second between replays. Their mean squares make the variance of the
    difference; its degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946), so that two replays, which
    say little about how replays differ, give a wide band. None with fewer than two replays or three requests each.
    """
    sizes = [len(replay) for replay in others]
    if len(cold) < 2 or len(others) < 2 or min(sizes) < 3:
        return None
    logs = [np.log(replay) for replay in others]
    mean = float(np.mean([part.mean() for part in logs]))
    ratio = math.exp(float(np.mean(np.log(cold))) - mean)
    half = _half_width(logs, len(cold))
    return Floor(ratio, (math.exp(-half), math.exp(half)), len(cold), sum(sizes))


def _half_width(logs: Sequence[np.ndarray], cold: int) -> float:
    replays, all_of_them = len(logs), sum(len(part) for part in logs)
    size = all_of_them / replays
    free = all_of_them - replays
    own = sum(float(((part - part.mean()) ** 2).sum()) for part in logs) / free
    between = float(np.var([part.mean() for part in logs], ddof=1))
    if between <= own / size:  # no more than the requests' own noise: replays share none that can be seen
        return chance.t_quantile(1 - LEVEL, free) * math.sqrt(own * (1 / cold + 1 / all_of_them))
    # Shared noise is between - own / size, in both means once a replay.
    parts = (between * (1 / cold + 1 / replays), own * (1 / cold + 1 / all_of_them - (1 / cold + 1 / replays) / size))
    variance = sum(parts)
    df = variance**2 / (parts[0] ** 2 / (replays - 1) + parts[1] ** 2 / free)
    return chance.t_quantile(1 - LEVEL, max(1, math.floor(df))) * math.sqrt(variance)
