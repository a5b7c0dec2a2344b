"""Which arms of several sessions stand against each other, and by how much they differ.

Sessions are not mirrored against each other: what drifts between two days or two machines is in every ratio. So
there are no verdicts, only whether a difference is larger than what replays of one arm differ by within a session.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from tui.engine.kv_pool import PINNED
from tui.session.report import exports
from tui.session.report.across import comparable
from tui.session.report.material import Material, RunMaterial
from tui.session.stats import FEWEST_P95

SCHEMA = "vtune.reports/1"
FEWEST = 5  # requests for a median
BEYOND = 2.0  # times the typical difference between replays of one arm, in logarithms

# name -> the request's own figure (s), quantile; throughput is the run's.
METRICS = {
    "ttft_s.p50": ("ttft_s", 0.5), "ttft_s.p95": ("ttft_s", 0.95), "tpot_s.p50": ("tpot_s", 0.5),
    "e2e_s.p50": ("e2e_s", 0.5), "throughput.output_tokens_per_s": (None, 0.0),
}  # fmt: skip


def letter(place: int) -> str:
    """A, B, ... Z, then S27, S28."""
    return chr(ord("A") + place) if place < 26 else f"S{place + 1}"


@dataclass(frozen=True, slots=True)
class Arm:
    """The whole replays of one setting of the levers in one session."""

    levers: tuple[tuple[str, str], ...]
    label: str
    runs: tuple[RunMaterial, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of one arm in each session (None: not measured); ratios and words are against the first session."""

    values: tuple[float | None, ...]
    ratios: tuple[float | None, ...]
    n: tuple[int, ...]
    noise: float | None  # factor by which replays of one arm typically differ, the larger of the sessions'
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """An arm that the first session shares with others; `arms`: None where a session has it not."""

    label: str
    arms: tuple[Arm | None, ...]
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Across:
    materials: tuple[Material, ...]
    arms: tuple[tuple[Arm, ...], ...]  # of each session
    rows: tuple[Row, ...]
    obstacles: tuple[str, ...]  # why a ratio is withheld, or may be of something else than the levers
    differences: tuple[tuple[str, tuple[str, ...]], ...]  # fact, its value in each session


def compare(materials: Sequence[Material]) -> Across:
    """The first session is the one that the others are held against."""
    arms = _named([_arms(material) for material in materials])
    shared = [[_same(first, of_one) for of_one in arms] for first in arms[0]]
    lined = [sides for sides in shared if sum(side is not None for side in sides) > 1]
    obstacles = comparable.obstacles([[side.runs if side else () for side in sides] for sides in lined])
    rows = tuple(_row(sides, obstacles.withheld, arms) for sides in lined)
    return Across(tuple(materials), arms, rows, obstacles.words, comparable.differences(materials))


def _arms(material: Material) -> tuple[Arm, ...]:
    """By the levers that were asked, in the order of their first run."""
    found: dict[tuple[tuple[str, str], ...], list[RunMaterial]] = {}
    for run in material.runs:
        if run.engine is not None and run.result["requests"]["ok"] and run.record.state in ("done", "drained"):
            asked = tuple(sorted((k, v) for k, v in run.engine.asked.items() if k != PINNED))
            found.setdefault(asked, []).append(run)
    return tuple(Arm(levers, runs[0].record.label, tuple(runs)) for levers, runs in found.items())


def _named(arms: Sequence[tuple[Arm, ...]]) -> tuple[tuple[Arm, ...], ...]:
    """By the levers in which any two differ: a label such as ``baseline`` means something else in each session."""
    every = [dict(arm.levers) for of_one in arms for arm in of_one]
    names = dict.fromkeys(name for levers in every for name in levers)
    varied = [name for name in names if len({levers.get(name) for levers in every}) > 1]

    def label(arm: Arm) -> str:
        levers = dict(arm.levers)
        return ", ".join(f"{name}={levers.get(name, 'unset')}" for name in varied) or "the same levers in all"

    return tuple(tuple(replace(arm, label=label(arm)) for arm in of_one) for of_one in arms)


def _same(arm: Arm, others: Sequence[Arm]) -> Arm | None:
    return next((other for other in others if other.levers == arm.levers), None)


def _row(sides: list[Arm | None], withheld: frozenset[int], arms: Sequence[Sequence[Arm]]) -> Row:
    first = sides[0]
    assert first is not None
    figures = {name: _figure(name, sides, withheld, arms) for name in METRICS}
    return Row(first.label, tuple(sides), figures)


def _figure(name: str, sides: Sequence[Arm | None], withheld: frozenset[int], arms: Sequence[Sequence[Arm]]) -> Figure:
    base = sides[0]
    values = tuple(_value(name, side.runs) if side else None for side in sides)
    ratios: list[float | None] = []
    counts: list[int] = []
    for place, side in enumerate(sides):
        told = side is not None and base is not None and place not in withheld
        ratio, n = _ratio(name, side.runs, base.runs) if told else (None, 0)
        ratios.append(ratio if place else None)
        counts.append(n)
    known = [found for of_one in arms if (found := _noise(name, of_one)) is not None]
    noise = max(known, default=None)
    return Figure(values, tuple(ratios), tuple(counts), noise, tuple(_word(ratio, noise) for ratio in ratios))


def _word(ratio: float | None, noise: float | None) -> str:
    if ratio is None:
        return ""
    if noise is None:
        return "noise unknown"
    return "beyond noise" if abs(math.log(ratio)) > BEYOND * math.log(noise) else "within noise"


def _value(name: str, runs: Sequence[RunMaterial]) -> float | None:
    """Mean over the replays."""
    attribute, _ = METRICS[name]
    block, _, key = name.partition(".")
    found = [run.result[block][key] if attribute is None else _dist(run, attribute)[key] for run in runs]
    known = [value for value in found if value is not None]
    return fmean(known) if known else None


def _dist(run: RunMaterial, attribute: str) -> Mapping[str, Any]:
    return run.result["ttft_s"]["all"] if attribute == "ttft_s" else run.result[attribute]


def _ratio(name: str, ours: Sequence[RunMaterial], theirs: Sequence[RunMaterial]) -> tuple[float | None, int]:
    """Over the requests that succeeded in every replay of both, each the geometric mean of its replays."""
    attribute, q = METRICS[name]
    if attribute is None:
        one, other = _value(name, ours), _value(name, theirs)
        return (one / other if one and other else None), min(len(ours), len(theirs))
    of_run = [_by_id(run, attribute) for run in (*ours, *theirs)]
    ids = [i for i in of_run[0] if all(i in known for known in of_run[1:])]
    if len(ids) < (FEWEST if q == 0.5 else FEWEST_P95):
        return None, len(ids)
    times = np.log([[known[i] for i in ids] for known in of_run])
    one, other = times[: len(ours)].mean(axis=0), times[len(ours) :].mean(axis=0)
    return float(np.quantile(np.exp(one), q) / np.quantile(np.exp(other), q)), len(ids)


def _by_id(run: RunMaterial, attribute: str) -> dict[str, float]:
    found = {o.id: getattr(o, attribute) for o in run.outcomes if o.status == "ok"}
    return {i: max(value, 1e-6) for i, value in found.items() if value is not None}


def _noise(name: str, arms: Sequence[Arm]) -> float | None:
    """The factor (root mean square) between replays of the same arm, one after the other, in one session."""
    steps = []
    for arm in arms:
        found = [ratio for a, b in zip(arm.runs, arm.runs[1:], strict=False) if (ratio := _ratio(name, [b], [a])[0])]
        steps += [math.log(ratio) ** 2 for ratio in found]
    return math.exp(math.sqrt(fmean(steps))) if steps else None


def told(found: Across) -> dict[str, Any]:
    """The vtune.reports/1 object."""
    return {
        "schema": SCHEMA,
        "sessions": [exports.told(material) for material in found.materials],
        "obstacles": list(found.obstacles),
        "differences": {name: list(values) for name, values in found.differences},
        "arms": [
            {"label": row.label, "levers": dict(arm.levers) if (arm := row.arms[0]) else {},
             "runs": [[run.number for run in side.runs] if side else [] for side in row.arms],
             "metrics": {name: {"values": list(f.values), "ratios": list(f.ratios), "n": list(f.n), "noise": f.noise,
                                "words": list(f.words)} for name, f in row.figures.items()}}
            for row in found.rows
        ],
    }  # fmt: skip
