"""`output_check` of a vtune.comparison/1, from the answers of all replays and what the engines were asked beside them.

```
{"word": the gravest of the arms', "arms": [{"arm", "word", "why",
    "greedy": {"n", "equal", "within_replays", "near_ties", "changed", "unexplained", "tie_bound",
               "same_arm": {"n", "equal"}, "examples": [{"id", "kind", "token", "gap", "around", "texts"}]},
    "sampled": {"n", "equal"}, "likelihood": {"requests", "answers", "baseline", "arm", "shift", "p", "word"},
    "features": {"length" | "stopped" | "repetition": {"requests", "baseline", "arm", "p", "moved"}}}],
 "same_arm": {"n", "equal"}, "cold_warm": {"arm", "n", "equal", "cached_tokens", "largest_gap"} | null,
 "caveats": [...]}
```
Log-probabilities are natural, means over the tokens of an answer; gaps are nats, a token's place counts from 0.
`same_arm` is A against A: greedy answers of an arm's own replays, at the top those of the baseline.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

from tui.session.check import answer as answers
from tui.session.check.answer import ByRequest
from tui.session.check.fork import Fork
from tui.session.check.greedy import Forks, Greedy, greedy
from tui.session.check.likelihood import Scores, likelihoods
from tui.session.check.shape import features
from tui.session.check.words import Checked
from tui.session.compare.pairing import Replayed

GRAVEST = ("changed", "unexplained", "too few", "nothing to compare", "near ties", "no change seen", "equal")

Check = Mapping[str, Any]  # a `check` event of the journal


def output_check(
    plan: Mapping[str, Any], replays: Sequence[Replayed], checks: Sequence[Check]
) -> dict[str, Any] | None:
    """`plan` is the journal's comparison event. None where no check was wanted."""
    if not plan.get("check"):
        return None
    base, names = plan["baseline"], [arm["name"] for arm in plan["arms"]]
    found = answers.distinct((r.arm, r.number, r.ok.values()) for r in replays)
    told = _Told(checks)
    arms = [_checked(name, base, found, plan, told) for name in names if name != base]
    rows = [_row(name, checked) for name, checked in zip((n for n in names if n != base), arms, strict=True)]
    own = answers.within(found.get(base, {}), _greedy_ids(plan, found))
    return {
        "word": min((row["word"] for row in rows), key=GRAVEST.index),
        "arms": rows,
        "same_arm": {"n": own.n, "equal": len(own.equal)},
        "cold_warm": told.cold_warm(),
        "caveats": [*told.faults, *_kept(found)],
    }


class _Told:
    """The check events, by what was asked."""

    def __init__(self, checks: Sequence[Check]) -> None:
        def of(asked: str) -> list[Check]:
            return [c for c in checks if c.get("asked") == asked]

        self.controls = of("control")
        self.forks: Forks = {(c["id"], *c["runs"]): Fork.from_json(c["fork"]) for c in of("fork")}
        self.scores: Scores = {(c["n"], c["id"]): c["logprob"] for c in of("score")}
        self.faults = list(dict.fromkeys(c["what"] for c in of("fault")))

    @property
    def warm(self) -> list[Check]:
        """Controls whose second prompt came out of the cache."""
        return [c for c in self.controls if c.get("cached")]

    @property
    def parted(self) -> list[Fork]:
        return [Fork.from_json(c["fork"]) for c in self.warm if c.get("fork")]

    def cold_warm(self) -> dict[str, Any] | None:
        if not self.controls:
            return None
        return {
            "arm": self.controls[0]["arm"],
            "n": len(self.warm),
            "equal": sum(c["cold"] == c["warm"] for c in self.warm),
            "cached_tokens": [c["cached"] for c in self.controls],
            "largest_gap": max((fork.gap for fork in self.parted), default=None),
        }


def _checked(
    name: str, base: str, found: Mapping[str, ByRequest], plan: Mapping[str, Any], told: _Told
) -> Checked:
    arm, theirs = found.get(name, {}), found.get(base, {})
    ids = _greedy_ids(plan, found)
    greedy_ids = set(ids)
    sampled = [i for i in theirs if i not in greedy_ids]
    seed = plan["seed"] + crc32(name.encode())
    every = [i for i in theirs if i in arm]
    compared: Greedy = greedy(arm, theirs, ids, told.forks, told.parted)
    return Checked(
        compared,
        answers.between(arm, theirs, sampled),
        likelihoods(arm, theirs, every, told.scores, seed),
        features(arm, theirs, every, seed, plan["fix_lengths"]),
    )


def _greedy_ids(plan: Mapping[str, Any], found: Mapping[str, ByRequest]) -> list[str]:
    """In the order of the recording, as far as the baseline answered them."""
    return [i for i in plan["greedy"] if i in found.get(plan["baseline"], {})]


def _row(name: str, checked: Checked) -> dict[str, Any]:
    return {
        "arm": name,
        "word": checked.word,
        "why": checked.why,
        "greedy": checked.greedy.to_json(),
        "sampled": {"n": checked.sampled.n, "equal": len(checked.sampled.equal)},
        "likelihood": checked.likelihoods.to_json(),
        "features": {feature: row.to_json() for feature, row in checked.features.items()},
    }


def _kept(found: Mapping[str, ByRequest]) -> list[str]:
    rows = [a for of_arm in found.values() for several in of_arm.values() for a in several]
    without = sum(a.text is None for a in rows)
    if not without:
        return []
    return [f"{without} of {len(rows)} answers have no plain text (not kept, tool calls or reasoning): "
            "they are compared by their hash alone"]  # fmt: skip
