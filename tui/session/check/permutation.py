"""Does an arm's answers differ in a number from the baseline's by more than chance? Labels are exchanged to see.

Answers to the same request are compared with each other only: where arms are equal, which of them came from
which arm is chance, so every other labelling was as likely (Good, Permutation, Parametric and Bootstrap Tests
of Hypotheses, chapter 3). That needs no distribution, and few answers can never show much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np

Values = Sequence[float]

TURNS = 10_000
FEWER_TURNS = 2_000
MANY = 200  # requests
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Shift:
    """Mean over the requests of (arm - baseline); `p` two-sided, None where no labelling could show anything.

    `least` is the smallest p that so many answers can have.
    """

    n: int
    baseline: float
    arm: float
    p: float | None
    least: float

    @property
    def value(self) -> float:
        return self.arm - self.baseline


def shift(pairs: Sequence[tuple[Values, Values]], seed: Sequence[int]) -> Shift | None:
    """`pairs`: per request the arm's values and the baseline's, at least one of each. None without requests."""
    if not pairs:
        return None
    arm = float(np.mean([np.mean(ours) for ours, _ in pairs]))
    base = float(np.mean([np.mean(theirs) for _, theirs in pairs]))
    moving = [(ours, theirs) for ours, theirs in pairs if len({*ours, *theirs}) > 1]
    ways = prod(min(comb(len(a) + len(b), len(a)), 10_000) for a, b in moving[:40])
    least = min(1.0, 2 / ways) if moving else 1.0
    p = _p(moving, np.random.default_rng(seed)) if moving else None
    return Shift(len(pairs), base, arm, p, least)


def _p(pairs: Sequence[tuple[Values, Values]], rng: np.random.Generator) -> float:
    turns = TURNS if len(pairs) <= MANY else FEWER_TURNS
    found, drawn = 0.0, np.zeros(turns)
    for ours, theirs in pairs:
        values = np.array([*ours, *theirs], dtype=float)
        found += values[: len(ours)].mean() - values[len(ours) :].mean()
        turned = rng.permuted(np.broadcast_to(values, (turns, len(values))).copy(), axis=1)
        drawn += turned[:, : len(ours)].mean(axis=1) - turned[:, len(ours) :].mean(axis=1)
    beyond = np.count_nonzero(np.abs(drawn) >= abs(found) - _SAME)
    return (1 + int(beyond)) / (1 + turns)
