"""Answers that differ, by how likely the baseline's engine finds them: a drop is broken text, a rise may be repetition.

Equal distributions give equally likely answers, whatever the texts are. Text that the model would not write lies
nats a token lower.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tui.session.check import permutation
from tui.session.check.answer import ByRequest
from tui.session.check.permutation import Shift

LEVEL = 0.01  # a check that cries wolf is turned off
GROSS = 2.0  # nats a token: more than the wording of a few answers can do

Word = Literal["drop", "rise", "no shift seen", "too few"]
Scores = Mapping[tuple[int, str], float]  # (run, request) -> mean log-probability of a token


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """`requests` of which answers of both arms were scored; `answers` of the arm."""

    requests: int
    answers: int
    shift: Shift | None
    apart: bool  # every answer of the arm lies beyond every one of the baseline's to the same request

    @property
    def word(self) -> Word:
        if self.shift is None:
            return "too few"
        way: Word = "drop" if self.shift.value < 0 else "rise"
        if self.shift.p is not None and self.shift.p <= LEVEL:
            return way
        if self.apart and abs(self.shift.value) >= GROSS and self.requests > 1:
            return way
        return "too few" if self.shift.least > LEVEL else "no shift seen"

    def to_json(self) -> dict[str, Any]:
        found = self.shift
        return {
            "requests": self.requests,
            "answers": self.answers,
            "baseline": None if found is None else found.baseline,
            "arm": None if found is None else found.arm,
            "shift": None if found is None else found.value,
            "p": None if found is None else found.p,
            "word": self.word,
        }


def likelihoods(arm: ByRequest, base: ByRequest, ids: Sequence[str], scores: Scores, seed: int) -> Likelihoods:
    pairs: list[tuple[list[float], list[float]]] = []
    for i in ids:
        ours, theirs = (
            [scores[a.run, i] for a in side.get(i, ()) if (a.run, i) in scores] for side in (arm, base)
        )
        same = {a.key for a in arm.get(i, ())} & {a.key for a in base.get(i, ())}
        if ours and theirs and not same:
            pairs.append((ours, theirs))
    found = permutation.shift(pairs, [seed, 1])
    below = all(max(ours) < min(theirs) for ours, theirs in pairs)
    above = all(min(ours) > max(theirs) for ours, theirs in pairs)
    return Likelihoods(len(pairs), sum(len(ours) for ours, _ in pairs), found, bool(pairs) and (below or above))
