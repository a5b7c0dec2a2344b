"""Greedy answers of an arm against the baseline's: equal, parted at a near tie, or changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui.session.check import answer as answers
from tui.session.check import fork as forks
from tui.session.check.answer import ByRequest, Compared, Pair
from tui.session.check.fork import TIE, Fork

EXAMPLES = 5

Forks = Mapping[tuple[str, int, int], Fork]  # (request, run of one, run of the other)


@dataclass(frozen=True, slots=True)
class Greedy:
    """`own` and `theirs` are A against A, of the arm and of the baseline; `bound` is how far from a tie chance goes."""

    compared: Compared
    own: Compared
    theirs: Compared
    forks: Forks
    bound: float

    def kind(self, pair: Pair) -> str:
        """near tie, changed, or unexplained: nobody could ask the engine."""
        found = self.fork(pair)
        if found is None or (found.more and found.gap <= self.bound):
            return "unexplained"
        return "near tie" if found.gap <= self.bound else "changed"

    def fork(self, pair: Pair) -> Fork | None:
        return self.forks.get((pair.id, pair.one.run, pair.other.run))

    def count(self, kind: str) -> int:
        return sum(self.kind(pair) == kind for pair in self.compared.pairs)

    def to_json(self) -> dict[str, Any]:
        order = sorted(self.compared.pairs, key=lambda p: ("changed", "unexplained", "near tie").index(self.kind(p)))
        return {
            "n": self.compared.n,
            "equal": len(self.compared.equal),
            "within_replays": len(self.compared.shared),
            "near_ties": self.count("near tie"),
            "changed": self.count("changed"),
            "unexplained": self.count("unexplained"),
            "tie_bound": round(self.bound, 4),
            "same_arm": {"n": self.own.n, "equal": len(self.own.equal)},
            "examples": [self._example(pair) for pair in order[:EXAMPLES]],
        }

    def _example(self, pair: Pair) -> dict[str, Any]:
        found = self.fork(pair)
        around = forks.excerpt(pair.one.text or "", pair.other.text or "")
        return {
            "id": pair.id,
            "kind": self.kind(pair),
            "token": found.token if found else None,
            "gap": found.gap if found else None,
            "gap_is_more": found.more if found else False,
            "around": {"baseline": around[0], "arm": around[1]},
            "texts": {"baseline": pair.one.text, "arm": pair.other.text},
        }


def greedy(
    arm: ByRequest, base: ByRequest, ids: Sequence[str], forks: Forks, control: Sequence[Fork]
) -> Greedy:
    """`control`: where cold and warm answers of one engine parted.

    What two replays of one arm, or a cold and a warm prompt, do to a text is chance: what parts arms there too.
    """
    own, theirs = answers.within(arm, ids), answers.within(base, ids)
    by_chance = [f for p in (*own.pairs, *theirs.pairs) if (f := forks.get((p.id, p.one.run, p.other.run)))]
    bound = max([TIE, *(f.gap for f in (*by_chance, *control))])
    return Greedy(answers.between(arm, base, ids), own, theirs, forks, bound)
