"""The verdicts on an arm: a ratio to the baseline, an interval, and a word that does not go beyond it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from zlib import crc32

import numpy as np

from tui.session.compare import bootstrap, chance
from tui.session.compare.pairing import Pairing, values
from tui.session.stats import FEWEST_P95

Word = Literal["faster", "slower", "no difference seen", "too few"]

LEVEL = 0.05  # of all verdicts of a comparison together
FEWEST = {0.5: 5, 0.95: FEWEST_P95}  # requests from which a quantile says something
SPEED = "output_tokens_per_s"
MOST_ROUNDS = 50

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Metric:
    """`attribute` of an Outcome (a time: less is better) and its quantile; None for the replay's throughput."""

    name: str
    title: str
    attribute: str | None
    q: float = 0.5


TTFT, TTFT95 = Metric("ttft_s.p50", "TTFT p50", "ttft_s"), Metric("ttft_s.p95", "TTFT p95", "ttft_s", 0.95)
TPOT, E2E = Metric("tpot_s.p50", "TPOT p50", "tpot_s"), Metric("e2e_s.p50", "E2E p50", "e2e_s")
THROUGHPUT = Metric(f"throughput.{SPEED}", "output tokens/s", None)
OVERALL = (TTFT, TTFT95, TPOT, E2E, THROUGHPUT)
BY_CLASS = (TTFT, TTFT95)
BY_GROUP = (TTFT, TTFT95, TPOT, E2E)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ratio` is arm / baseline, `difference` arm - baseline (s, or tokens/s); None where unknown.

    `ci` holds 95 % of what another choice of requests and another draw of the machine's noise would
    give, for this verdict alone; `p` is corrected for all verdicts of the comparison. `n` counts requests,
    for throughput replays of an arm.
    """

    arm: str
    metric: Metric
    split: str
    word: Word
    n: int
    ratio: float | None = None
    ci: Interval | None = None
    difference: float | None = None
    difference_ci: Interval | None = None
    p: float | None = None
    needs: str | None = None  # how many would do


@dataclass(frozen=True, slots=True)
class _Measured:
    """Logarithms (rounds, replays) of both, and what the bootstrap made of their requests.

    A median hangs on the few requests in the middle: where prompts differ in length, on two of 32. Whether
    chance explains a difference is asked of `means` instead, of the logarithms of all its requests: under
    equal noise that finds a factor of 1.3 twice as often. Ratio and interval are the median's own.
    """

    split: str
    metric: Metric
    n: int
    arm: np.ndarray
    base: np.ndarray
    drawn: bootstrap.Intervals | None
    means: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def level(self) -> float:
        """The baseline's own value, in the metric's unit."""
        return math.exp(bootstrap.centre(self.base))

    @property
    def log_ratio(self) -> float:
        return float(bootstrap.centre(self.arm) - bootstrap.centre(self.base))


def judge(
    arms: Mapping[str, Pairing | None], splits: Mapping[str, Sequence[str] | None], seed: int
) -> dict[str, list[Verdict]]:
    """arm -> its verdicts; `arms` in the order of a round. `splits`: name -> ids of its requests, None for all.

    The verdicts of an arm are corrected together, then the arms among each other.
    """
    taken = {arm: _taken(arm, pairing, splits, seed) for arm, pairing in arms.items()}
    found = {}
    for place, (arm, pairing) in enumerate(arms.items(), 1):
        rows, measured = taken[arm]
        if pairing is not None and pairing.mirrored and measured:
            same = {other: matching for other, (_, theirs) in taken.items()
                    if other != arm and (matching := _matching(measured, theirs, arms[other], pairing))}  # fmt: skip
            places = [at for at, other in enumerate(arms, 1) if other in same]
            steady = chance.neighbourhood(len(arms) + 1, place, len(pairing.base), places)
            judged = iter(_against_chance(arm, measured, list(same.values()), seed, steady))
            rows = [row if row.word == "too few" else next(judged) for row in rows]
        found[arm] = rows
    smallest = {arm: min(p) for arm, rows in found.items() if (p := [r.p for r in rows if r.p is not None])}
    stepped = dict(zip(smallest, chance.holm(np.array(list(smallest.values()))), strict=True)) if smallest else {}
    factor = {arm: stepped[arm] / smallest[arm] for arm in smallest}
    return {arm: [_worded(row, factor.get(arm, 1.0)) for row in rows] for arm, rows in found.items()}


def _taken(
    arm: str, pairing: Pairing | None, splits: Mapping[str, Sequence[str] | None], seed: int
) -> tuple[list[Verdict], list[_Measured]]:
    """An arm's verdicts before chance was asked, and what is measured of those that are not *too few*."""
    wanted = [(split, metric, ids) for split, ids in splits.items() for metric in _metrics(split)]
    if pairing is None:
        needs = "no replay of it, or of the baseline, has an answer"
        return [Verdict(arm, metric, split, "too few", 0, needs=needs) for split, metric, _ in wanted], []
    rows: list[Verdict] = []
    measured: list[_Measured] = []
    for split, metric, ids in wanted:
        one = _measure(pairing, split, metric, ids, [seed, crc32(f"{arm}|{split}|{metric.name}".encode())])
        if isinstance(one, _Measured):
            measured.append(one)
            rows.append(_plain(arm, one, pairing.mirrored))
        else:
            rows.append(replace(one, arm=arm))
    return rows, measured


def _matching(
    measured: Sequence[_Measured], theirs: Sequence[_Measured], other: Pairing | None, pairing: Pairing
) -> list[_Measured]:
    """Another arm's measures of the same things in as many mirrored rounds, in the same order; else none."""
    if other is None or not other.mirrored or len(other.arm) != len(pairing.arm):
        return []
    by_name = {(one.split, one.metric.name): one for one in theirs}
    found = [by_name.get((one.split, one.metric.name)) for one in measured]
    return [one for one in found if one is not None] if None not in found else []


def _metrics(split: str) -> tuple[Metric, ...]:
    return OVERALL if split == "all" else BY_GROUP if split == "long" or split.startswith("group:") else BY_CLASS


def _measure(
    pairing: Pairing, split: str, metric: Metric, among: Sequence[str] | None, seed: Sequence[int]
) -> _Measured | Verdict:
    if metric.attribute is None:
        return _throughput(pairing, split, metric)
    wanted = None if among is None else set(among)
    ids = [i for i in pairing.ids(metric.attribute) if wanted is None or i in wanted]
    fewest = FEWEST[metric.q]
    if len(ids) < fewest:
        needs = f"{len(ids)} request{'s' * (len(ids) != 1)} in every replay, {fewest} would do"
        return Verdict("", metric, split, "too few", len(ids), needs=needs)
    if not pairing.mirrored:
        arm, base = (_flat(side, ids, metric) for side in (pairing.arm, pairing.base))
        return _Measured(split, metric, len(ids), arm, base, None)
    ours, theirs = (values(side, ids, metric.attribute) for side in (pairing.arm, pairing.base))
    drawn = bootstrap.intervals(ours, theirs, metric.q, np.random.default_rng(seed))
    arm, base = (bootstrap.log_quantiles(side, metric.q) for side in (ours, theirs))
    means = (np.log(ours).mean(axis=-1), np.log(theirs).mean(axis=-1)) if metric.q == 0.5 else None
    return _Measured(split, metric, len(ids), arm, base, drawn, means)


def _flat(rounds: Sequence[Sequence[Any]], ids: Sequence[str], metric: Metric) -> np.ndarray:
    return bootstrap.log_quantiles(values(rounds, ids, metric.attribute or ""), metric.q)


def _throughput(pairing: Pairing, split: str, metric: Metric) -> _Measured | Verdict:
    sides = [[[r.result["throughput"][SPEED] for r in round] for round in side] for side in (pairing.arm, pairing.base)]
    flat = [speed for side in sides for round in side for speed in round]
    if not all(flat):
        return Verdict("", metric, split, "too few", 0, needs="a replay did not tell its output tokens")
    arm, base = (np.log(np.array(side, dtype=float)) for side in sides)
    return _Measured(split, metric, arm.size, arm, base, None)


def _plain(arm: str, one: _Measured, mirrored: bool) -> Verdict:
    """Without an interval."""
    ratio = math.exp(one.log_ratio)
    needs = None if mirrored else "no mirrored round is complete: no A against A to judge it by; 1 whole round would do"
    word: Word = "no difference seen" if mirrored else "too few"
    return Verdict(arm, one.metric, one.split, word, one.n, ratio, None, one.level * (ratio - 1), None, None, needs)


def _against_chance(
    arm: str, measured: Sequence[_Measured], others: Sequence[Sequence[_Measured]], seed: int, steady: float
) -> Iterable[Verdict]:
    """`others`: the same measures of the other arms; `steady`: by how much their places in the round may hide the
    noise of the replays."""
    found = _contrast(measured, others, lambda one: (one.arm, one.base)).widened(steady)
    asked = _contrast(measured, others, lambda one: one.means or (one.arm, one.base)).widened(steady)
    p = chance.corrected(asked, np.random.default_rng([seed, crc32(arm.encode())]))
    p = np.where(asked.contrast * found.contrast < 0, 1.0, p)  # the requests as a whole went the other way
    width = chance.t_quantile(1 - LEVEL, found.df) * found.error
    for one, p_of, w, error in zip(measured, p, width, found.error, strict=True):
        centre, ratio = one.log_ratio, math.exp(one.log_ratio)
        ci = _hull((math.exp(centre - w), math.exp(centre + w)), one.drawn and one.drawn.ratio)
        difference = tuple(one.level * (bound - 1) for bound in ci)
        yield Verdict(arm, one.metric, one.split, "no difference seen", one.n, ratio, ci, one.level * (ratio - 1),
                      _hull(difference, one.drawn and one.drawn.difference), float(p_of),
                      _rounds(centre, error * math.sqrt(found.rounds), found))  # type: ignore[arg-type] # fmt: skip


_Sides = Callable[[_Measured], tuple[np.ndarray, np.ndarray]]


def _contrast(measured: Sequence[_Measured], others: Sequence[Sequence[_Measured]], sides: _Sides) -> chance.Contrast:
    def stacked(of: Sequence[_Measured], side: int) -> np.ndarray:
        return np.stack([sides(one)[side] for one in of], axis=-1)

    found = chance.Contrast.of(stacked(measured, 0), stacked(measured, 1))
    return replace(found, others=np.concatenate([chance.again(stacked(of, 0)) for of in others])) if others else found


def _hull(one: Interval, other: Interval | None) -> Interval:
    """The noise floor can only widen what the bootstrap gives, and the other way round."""
    return one if other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _rounds(distance: float, noise: float, found: chance.Contrast) -> str | None:
    """How many rounds would show a difference of this size, if the noise stays as it was. At least: p is corrected."""
    each = (found.df + 1) // found.rounds
    for count in range(found.rounds + 1, MOST_ROUNDS + 1):
        if abs(distance) > chance.t_quantile(1 - LEVEL, each * count - 1) * noise / math.sqrt(count):
            return f"to tell x{math.exp(distance):.2f} from none, at least {count} rounds"
    return None


def _worded(row: Verdict, factor: float) -> Verdict:
    if row.word == "too few" or row.p is None or row.ci is None:
        return row
    p = min(1.0, row.p * factor)
    low, high = row.ci
    if p > LEVEL or low <= 1.0 <= high:
        return replace(row, p=p)
    better = row.ratio > 1 if row.metric.attribute is None else row.ratio < 1  # type: ignore[operator]
    return replace(row, p=p, word="faster" if better else "slower", needs=None)
