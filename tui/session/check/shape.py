"""What can be told of answers without an engine: their lengths, how they ended, and how much they repeat themselves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any
from zlib import crc32

import numpy as np

from tui.session.check import permutation
from tui.session.check.answer import Answer, ByRequest
from tui.session.check.likelihood import LEVEL
from tui.session.check.permutation import Shift
from tui.session.check.repetition import repetition
from tui.session.compare import chance

Find = Callable[[Answer], float | None]


def _length(answer: Answer) -> float | None:
    return log(answer.tokens) if answer.tokens else None


def _stopped(answer: Answer) -> float | None:
    """1 where the model ended the answer, 0 where its limit did."""
    return None if answer.finish is None else float(answer.finish == "stop")


def _repeats(answer: Answer) -> float | None:
    return repetition(answer.text)


FEATURES: Mapping[str, Find] = {"length": _length, "stopped": _stopped, "repetition": _repeats}


@dataclass(frozen=True, slots=True)
class Feature:
    """`p` is corrected for all features of the arm. `length` is of logarithms: exp(shift) is the ratio."""

    name: str
    shift: Shift
    p: float | None

    @property
    def moved(self) -> bool:
        return self.p is not None and self.p <= LEVEL

    def to_json(self) -> dict[str, Any]:
        found = self.shift
        known = {"requests": found.n, "baseline": found.baseline, "arm": found.arm}
        if self.name == "length":
            known |= {"baseline": float(np.exp(found.baseline)), "arm": float(np.exp(found.arm))}
        return {**known, "p": self.p, "moved": self.moved}


def features(
    arm: ByRequest, base: ByRequest, ids: Sequence[str], seed: int, fixed_lengths: bool
) -> dict[str, Feature]:
    """With fixed lengths every answer is as long as it was told, and ends there."""
    wanted = {n: f for n, f in FEATURES.items() if not (fixed_lengths and n in ("length", "stopped"))}
    shifts = {name: _shift(name, find, arm, base, ids, seed) for name, find in wanted.items()}
    known = {name: found for name, found in shifts.items() if found is not None}
    tested = {name: found.p for name, found in known.items() if found.p is not None}
    p = dict(zip(tested, chance.holm(np.array(list(tested.values()))), strict=True)) if tested else {}
    return {name: Feature(name, found, float(p[name]) if name in p else None) for name, found in known.items()}


def _shift(name: str, find: Find, arm: ByRequest, base: ByRequest, ids: Sequence[str], seed: int) -> Shift | None:
    pairs = []
    for i in ids:
        ours, theirs = ([v for a in side.get(i, ()) if (v := find(a)) is not None] for side in (arm, base))
        if ours and theirs:
            pairs.append((ours, theirs))
    return permutation.shift(pairs, [seed, crc32(name.encode())])
