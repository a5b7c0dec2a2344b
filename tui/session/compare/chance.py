"""What chance does to a difference between arms: the noise of A against A, and how likely noise alone shows as much.

A replay has noise of its own (a busy machine, a start that came out well) that no number of requests
averages out. Only replays of the same arm show it, and a mirrored round has two of each. So an arm is
judged by how much its difference exceeds theirs: Student's t with few degrees of freedom.

In logarithms, a round gives the baseline a, a' and the arm b, b'. Where the arms are equal and replays
have variance s2, these are independent, each of variance s2:
- the contrast, sqrt(rounds) * mean over rounds of (b + b')/2 - (a + a')/2,
- (a - a')/sqrt(2) and (b - b')/sqrt(2) of each round: A against A,
- how the rounds' own contrasts differ (Helmert's rows), from two rounds on.
With few degrees of freedom even a factor of five may be no proof. Where there are more arms, their replays show
the machine's noise too, and each arm's own A against A counts as well; but an arm may be noisier than others, so
the larger of the two estimates is taken. Under equal noise that only makes a claim less likely.

Drift that is even over a round cancels in the contrast but not in A against A: it only makes a claim less
likely. Noise that changes slowly does so too with two arms; with more, the innermost arm's two replays are
neighbours and look steadier than they are, for which `neighbourhood` makes up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atan, cos, pi, sin, sqrt

import numpy as np

Array = np.ndarray

TURNS = 20_000


@dataclass(frozen=True, slots=True)
class Contrast:
    """Verdicts of one arm together. `contrast` (verdicts,), `noise` (rows, verdicts) and `others` (rows, verdicts),
    which is the A against A of the comparison's other arms, have equal variance by chance."""

    contrast: Array
    noise: Array
    rounds: int
    others: Array | None = None

    @classmethod
    def of(cls, arm: Array, base: Array) -> "Contrast":
        """`arm` and `base`: logarithms shaped (rounds, 2 replays, verdicts)."""
        rounds = base.shape[0]
        by_round = arm.mean(axis=1) - base.mean(axis=1)
        noise = np.concatenate([again(arm), again(base), _helmert(rounds) @ by_round])
        return cls(by_round.sum(axis=0) / sqrt(rounds), noise, rounds)

    def widened(self, factor: float) -> "Contrast":
        return replace(self, noise=factor * self.noise, others=None if self.others is None else factor * self.others)

    @property
    def rows(self) -> Array:
        """(df, verdicts): all that chance alone has made."""
        return self.noise if self.others is None else np.concatenate([self.noise, self.others])

    @property
    def df(self) -> int:
        return len(self.rows)

    @property
    def error(self) -> Array:
        """Standard error of the mean difference of logarithms, per verdict."""
        return np.sqrt(self._variance / self.rounds)

    @property
    def t(self) -> Array:
        """Student's t per verdict; 0 where nothing differs at all, infinite where only the arms differ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.abs(self.contrast) / np.sqrt(self._variance)
        return np.where(self.contrast == 0, 0.0, found)

    @property
    def _variance(self) -> Array:
        return np.maximum((self.noise**2).mean(axis=0), (self.rows**2).mean(axis=0))


def again(arm: Array) -> Array:
    """(rounds, verdicts) of A against A, from logarithms shaped (rounds, 2 replays, verdicts)."""
    return (arm[:, 0] - arm[:, 1]) / sqrt(2.0)


def corrected(found: Contrast, rng: np.random.Generator, turns: int = TURNS) -> Array:
    """p of each verdict, corrected for all verdicts of the arm together: Holm's step-down with their correlation.

    Verdicts of one arm share their replays and so their noise. Holm's own bound would have each pay as
    if they were independent, which leaves nothing at two degrees of freedom. Where arms are equal,
    contrast and noise are rows of the same distribution and may be turned into each other: each turn
    gives the largest t that chance could have shown, for any correlation (rotation tests: Langsrud,
    Statistics and Computing 15, 2005; step-down: Westfall and Young, Resampling-Based Multiple Testing, 1993).
    """
    rows = np.vstack([found.contrast, found.rows])
    turn = rng.standard_normal((turns, len(rows)))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    turned = (turn @ rows) ** 2
    rest = np.maximum((rows**2).sum(axis=0) - turned, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(turned == 0, 0.0, np.sqrt(found.df * turned / rest))
    order = np.argsort(found.t, kind="stable")
    largest = np.maximum.accumulate(chance[:, order], axis=1)
    p = ((largest >= found.t[order]).sum(axis=0) + 1) / (turns + 1)
    result = np.empty_like(p)
    result[order] = np.maximum.accumulate(p[::-1])[::-1]
    return result


def holm(p: Array) -> Array:
    """Adjusted p values (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    result = np.empty(len(p))
    result[order] = np.minimum(stepped, 1.0)
    return result


def t_within(t: float, df: int) -> float:
    """Share of Student's t with a whole number `df` of degrees of freedom within +-t.

    Abramowitz and Stegun 26.7.3 and 26.7.4.
    """
    angle = atan(t / sqrt(df))
    square, term, total = cos(angle) ** 2, 1.0, 0.0
    if df % 2 == 0:
        for k in range(df // 2):
            total += term
            term *= square * (2 * k + 1) / (2 * k + 2)
        return sin(angle) * total
    for k in range(1, (df + 1) // 2):
        total += term
        term *= square * (2 * k) / (2 * k + 1)
    return 2 / pi * (angle + sin(angle) * cos(angle) * total)


def t_quantile(inside: float, df: int) -> float:
    """The t within which a share `inside` lies: 0.95 and 2 give 4.303."""
    low, high = 0.0, 1.0
    while t_within(high, df) < inside:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, df) < inside else (low, middle)
    return high


def neighbourhood(arms: int, place: int, rounds: int, others: Sequence[int] = ()) -> float:
    """Factor, 1 or more, by which A against A may look too steady for the arm at `place` (baseline 0) of a round.
    `others` are the places of those whose A against A is counted too.

    Noise that follows an AR(1) with correlation r from replay to replay gives the contrast of a mirrored
    round and the differences within arms known variances, by their places; r itself is unknown, so the
    worst one counts. The geometric mean, for it is the small noise that makes false claims.
    """
    last = 2 * arms - 1
    places = (place, last - place, 0, last)
    apart = np.abs(np.subtract.outer(places, places))
    weights = np.array([0.5, 0.5, -0.5, -0.5])
    r = np.linspace(0.0, 0.98, 50)[:, None, None]
    contrast = weights @ (r**apart) @ weights
    within = np.stack([1 - r[:, 0, 0] ** (last - 2 * at) for at in (place, 0, *others)])
    logs = rounds * np.log(within).sum(axis=0) + (rounds - 1) * np.log(contrast)
    seen = np.exp(logs / (rounds * (3 + len(others)) - 1))
    return max(1.0, float(np.sqrt((contrast / seen).max())))


def _helmert(size: int) -> Array:
    """(size - 1, size): orthonormal rows, each at a right angle to the mean."""
    rows = np.zeros((size - 1, size))
    for i in range(1, size):
        rows[i - 1, :i] = 1.0
        rows[i - 1, i] = -i
        rows[i - 1] /= sqrt(i * (i + 1))
    return rows
