"""What was answered, by arm and request: each different answer once, whatever number of replays gave it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui.traffic.outcome import Outcome

ByRequest = Mapping[str, tuple["Answer", ...]]


@dataclass(frozen=True, slots=True)
class Answer:
    """`key` is equal where the answers are; `text` is None where it was not kept, or is no plain text."""

    run: int
    id: str
    key: str
    text: str | None
    tokens: int | None
    prompt_tokens: int | None
    finish: str | None

    @classmethod
    def of(cls, run: int, outcome: Outcome) -> "Answer | None":
        """None where nothing tells what was answered."""
        key = outcome.text_sha256 or outcome.text
        if outcome.status != "ok" or key is None:
            return None
        plain = not (outcome.reasoning or outcome.tool_calls)
        return cls(run, outcome.id, key, outcome.text if plain else None, outcome.output_tokens,
                   outcome.prompt_tokens, outcome.finish_reason)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one request that differ."""

    one: Answer
    other: Answer

    @property
    def id(self) -> str:
        return self.one.id


@dataclass(frozen=True, slots=True)
class Compared:
    """Requests of two arms: `equal` where all answers of both are one, `shared` where each also varies by itself
    and one answer came from both, `pairs` where none did."""

    equal: tuple[str, ...]
    shared: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def n(self) -> int:
        return len(self.equal) + len(self.shared) + len(self.pairs)


def distinct(replays: Iterable[tuple[str, int, Iterable[Any]]]) -> dict[str, ByRequest]:
    """Arm -> request -> its different answers in the order of the replays; `replays` are (arm, run, outcomes).

    A request that some replay of an arm did not answer is left out of that arm; a replay without any does not count.
    """
    found: dict[str, dict[str, list[Answer]]] = {}
    answered: dict[str, list[set[str]]] = {}
    for arm, run, outcomes in replays:
        rows = [answer for o in outcomes if isinstance(o, Outcome) and (answer := Answer.of(run, o)) is not None]
        if not rows:
            continue  # cut short before its first answer
        answered.setdefault(arm, []).append({row.id for row in rows})
        of_arm = found.setdefault(arm, {})
        for row in rows:
            known = of_arm.setdefault(row.id, [])
            if all(row.key != other.key for other in known):
                known.append(row)
    everywhere: dict[str, set[str]] = {arm: set.intersection(*ids) for arm, ids in answered.items()}
    return {
        arm: {i: tuple(rows) for i, rows in of_arm.items() if i in everywhere[arm]} for arm, of_arm in found.items()
    }


def between(arm: ByRequest, base: ByRequest, ids: Sequence[str]) -> Compared:
    equal, shared, pairs = [], [], []
    for i in ids:
        ours, theirs = arm.get(i), base.get(i)
        if not ours or not theirs:
            continue
        common = {a.key for a in ours} & {a.key for a in theirs}
        if not common:
            pairs.append(Pair(theirs[0], ours[0]))
        else:
            (equal if len(ours) == len(theirs) == 1 else shared).append(i)
    return Compared(tuple(equal), tuple(shared), tuple(pairs))


def within(arm: ByRequest, ids: Sequence[str]) -> Compared:
    """A against A: the replays of one arm."""
    known = [i for i in ids if arm.get(i)]
    pairs = tuple(Pair(arm[i][0], arm[i][1]) for i in known if len(arm[i]) > 1)
    return Compared(tuple(i for i in known if len(arm[i]) == 1), (), pairs)
