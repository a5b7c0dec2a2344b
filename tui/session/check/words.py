"""A checked arm in words: what was compared, and what that shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tui.session.check.answer import Compared
from tui.session.check.fork import LOOKED_AT
from tui.session.check.greedy import Greedy
from tui.session.check.likelihood import Likelihoods
from tui.session.check.shape import Feature

Word = Literal["equal", "near ties", "no change seen", "changed", "unexplained", "too few", "nothing to compare"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One arm against the baseline."""

    greedy: Greedy
    sampled: Compared
    likelihoods: Likelihoods
    features: Mapping[str, Feature]

    @property
    def word(self) -> Word:
        greedy, sampled = self.greedy, self.sampled
        if not greedy.compared.n + sampled.n:
            return "nothing to compare"
        if self.signs():
            return "changed"
        if greedy.count("unexplained") and greedy.count("near tie") < LOOKED_AT:
            return "unexplained"
        if len(sampled.equal) < sampled.n:
            return "no change seen" if self.likelihoods.word == "no shift seen" else "too few"
        if len(greedy.compared.equal) < greedy.compared.n:
            return "near ties" if greedy.compared.pairs else "no change seen"
        return "equal"

    def signs(self) -> list[str]:
        """What shows that the answers are others than the baseline's; empty where nothing does."""
        changed = self.greedy.count("changed")
        part = "answers part" if changed > 1 else "answer parts"
        found = [f"{changed} greedy {part} where the baseline's engine was sure"] if changed else []
        if self.likelihoods.word in ("drop", "rise"):
            found.append(_shifted(self.likelihoods))
        return found + [_moved(feature) for feature in self.features.values() if feature.moved]

    @property
    def why(self) -> str:
        """One line with the figures behind the word."""
        parts = [*self.signs(), self._greedy(), self._sampled()]
        return "; ".join(part for part in parts if part)

    def _greedy(self) -> str:
        found = self.greedy
        if not found.compared.n:
            return ""
        words = [f"{len(found.compared.equal)} of {found.compared.n} greedy answers equal"]
        if ties := found.count("near tie"):
            gap = max(f.gap for p in found.compared.pairs if found.kind(p) == "near tie" and (f := found.fork(p)))
            part = "part" if ties > 1 else "parts"
            words.append(f"{ties} {part} at a near tie (tokens within {gap:.2f} nats, {found.bound:.2f} is chance)")
        if count := len(found.compared.shared):
            words.append(f"{count} within what the replays of one arm differ by")
        if count := found.count("unexplained"):
            words.append(f"{count} differ{'s' * (count == 1)}, and the engine was not asked how sure it was there")
        return ", ".join(words)

    def _sampled(self) -> str:
        if not self.sampled.n:
            return ""
        if len(self.sampled.equal) == self.sampled.n:
            return f"{self.sampled.n} of {self.sampled.n} sampled answers equal"
        found = self.likelihoods
        if found.word in ("drop", "rise"):
            return ""
        if found.shift is None:
            return "sampled answers differ, as they may; none was scored"
        shift = f"{found.shift.value:+.2f} nats a token over {found.requests} requests"
        if found.word == "too few":
            return f"sampled answers: too few to tell a shift of likelihood from chance ({shift})"
        return f"sampled answers as likely as the baseline's ({shift}, p {found.shift.p:.2g})"


def _shifted(found: Likelihoods) -> str:
    assert found.shift is not None
    size = abs(found.shift.value)
    if found.word == "drop":
        return (f"its answers are {size:.1f} nats a token less likely to the baseline's engine than its own "
                f"({found.shift.arm:.1f} against {found.shift.baseline:.1f}): broken text")  # fmt: skip
    return (f"its answers are {size:.1f} nats a token likelier to the baseline's engine than its own "
            f"({found.shift.arm:.1f} against {found.shift.baseline:.1f}): perhaps they repeat themselves")  # fmt: skip


def _moved(feature: Feature) -> str:
    row = feature.to_json()
    if feature.name == "length":
        return f"answers of {row['arm']:.0f} tokens where the baseline's have {row['baseline']:.0f}"
    what = {"stopped": "answers that end by themselves", "repetition": "repeated runs of words"}[feature.name]
    return f"{what}: {row['arm']:.0%} where the baseline has {row['baseline']:.0%}"
