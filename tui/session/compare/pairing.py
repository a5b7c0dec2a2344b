"""Which replays stand against each other, and the same requests in all of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tui.traffic.outcome import Outcome, Reuse
from tui.traffic.tick import Finished

Request = Outcome | Finished

_SHORTEST = 1e-6  # seconds; a time of zero has no logarithm


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay of the comparison: `ok` are its requests that succeeded, by id; `whole`: it ran to its end."""

    number: int
    arm: str
    round: int
    ok: Mapping[str, Request]
    result: Mapping[str, Any]
    whole: bool

    @classmethod
    def of(
        cls, number: int, arm: str, round: int, outcomes: Iterable[Request], result: Mapping[str, Any], whole: bool
    ) -> "Replayed":
        return cls(number, arm, round, {o.id: o for o in outcomes if o.status == "ok"}, result, whole)


@dataclass(frozen=True, slots=True)
class Pairing:
    """An arm against the baseline: per round its replays; `mirrored` when each round has two whole ones of both."""

    arm: tuple[tuple[Replayed, ...], ...]
    base: tuple[tuple[Replayed, ...], ...]
    mirrored: bool

    @property
    def replays(self) -> list[Replayed]:
        return [replay for round in (*self.arm, *self.base) for replay in round]

    def ids(self, metric: str) -> list[str]:
        """Requests that succeeded, with this metric known, in every replay; in the order of the first."""
        first, *others = self.replays
        wanted = (i for i in first.ok if all(i in replay.ok for replay in others))
        return [i for i in wanted if all(getattr(r.ok[i], metric) is not None for r in self.replays)]


def pair(arm: str, base: str, replays: Sequence[Replayed]) -> Pairing | None:
    """The rounds that are complete for both; without one, all that there is of both; None where one has nothing."""
    whole = [r for r in replays if r.whole and r.ok]
    rounds = sorted({r.round for r in whole})
    complete = [n for n in rounds if all(len(_of(whole, name, n)) == 2 for name in (arm, base))]
    if complete:
        ours, theirs = (tuple(_of(whole, name, n) for n in complete) for name in (arm, base))
        return Pairing(ours, theirs, mirrored=True)
    some = whole if all(any(r.arm == name for r in whole) for name in (arm, base)) else [r for r in replays if r.ok]
    ours, theirs = (tuple(r for r in some if r.arm == name) for name in (arm, base))
    return Pairing((ours,), (theirs,), mirrored=False) if ours and theirs else None


def _of(replays: Sequence[Replayed], arm: str, round: int) -> tuple[Replayed, ...]:
    return tuple(r for r in replays if r.arm == arm and r.round == round)


def values(rounds: Sequence[Sequence[Replayed]], ids: Sequence[str], metric: str) -> np.ndarray:
    """(rounds, replays, requests) of a time in seconds."""
    found = [[[getattr(replay.ok[i], metric) for i in ids] for replay in round] for round in rounds]
    return np.maximum(np.array(found, dtype=float), _SHORTEST)


def classes(replays: Sequence[Replayed], baseline: str) -> dict[str, Reuse]:
    """One class per request, for all arms: the one it had most often where prefix caching was on.

    That is the baseline, else the first arm with caching on; where none has it, classes are unknown.
    """
    on = [r for r in replays if r.result["prefix_cache"]["state"] == "on" and r.ok]
    arm = baseline if any(r.arm == baseline for r in on) else on[0].arm if on else None
    seen: dict[str, Counter[Reuse]] = {}
    for replay in on:
        if replay.arm == arm:
            for i, outcome in replay.ok.items():
                seen.setdefault(i, Counter())[outcome.reuse] += 1
    return {i: found.most_common(1)[0][0] for i, found in seen.items()}


def groups(replays: Sequence[Replayed]) -> dict[str, str]:
    """The recording's group of each request that has one."""
    return {i: o.group for replay in replays for i, o in replay.ok.items() if o.group is not None}


def long(replays: Sequence[Replayed]) -> list[str]:
    """Requests with a prompt at least twice as long as the median's: what schedulers make wait, or wait for."""
    length = {i: o.prompt_tokens for replay in replays for i, o in replay.ok.items() if o.prompt_tokens}
    if not length:
        return []
    bound = 2 * float(np.median(list(length.values())))
    return [i for i, tokens in length.items() if tokens >= bound]


def unequal_lengths(pairing: Pairing) -> tuple[int, int]:
    """(requests whose answers did not all have the same number of tokens, requests compared)."""
    ids = pairing.ids("output_tokens")
    lengths = [{replay.ok[i].output_tokens for replay in pairing.replays} for i in ids]
    return sum(len(found) > 1 for found in lengths), len(ids)
