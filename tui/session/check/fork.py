"""Where two answers to one request part, and whether the engine saw a tie there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

# Natural logarithm. Weights and activations of 16 bits have 8 or 11 bits of significand: logits of 16 to 32, which
# likely tokens have, come in steps of an eighth (bfloat16). Batching, cached blocks and verified drafts add in another
# order, and a few such steps are what that moves.
TIE = 0.5
LOOKED_AT = 8  # pairs an arm, and as many of its A against A; where so many are ties, the others are taken for ties


@dataclass(frozen=True, slots=True)
class Fork:
    """`gap`: by how much the less likely of the two tokens lies under the likeliest one, natural logarithm; `more`
    where it lies at least so far, being none of those that the engine told. `token` counts from 0."""

    token: int
    gap: float
    more: bool = False

    @classmethod
    def of(cls, token: int, one: int | None, other: int | None, choices: Mapping[int, float]) -> Self:
        """`one` and `other` are the tokens there; None for an answer that has ended, whose token no text holds."""
        best, floor = max(choices.values()), min(choices.values())
        known = [choices.get(t) for t in (one, other) if t is not None]
        low = min(floor if value is None else value for value in known)
        if None in (one, other) and low == best:  # what ended the other is the next likely
            low = sorted(choices.values())[-2] if len(choices) > 1 else best
        return cls(token, best - low, None in known)

    def to_json(self) -> dict[str, Any]:
        return {"token": self.token, "gap": round(self.gap, 4), "more": self.more}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        return cls(int(row["token"]), float(row["gap"]), bool(row.get("more")))


def parting(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Place of the first token that differs; None where there is none."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return None if len(one) == len(other) else min(len(one), len(other))


def excerpt(one: str, other: str, before: int = 40, after: int = 80) -> tuple[str, str]:
    """Both texts around the first character that differs."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    begin = max(0, place - before)
    dots = "…" if begin else ""
    return tuple(dots + text[begin : place + after] + ("…" if len(text) > place + after else "")
                 for text in (one, other))  # type: ignore[return-value]  # fmt: skip
