"""What a comparison asks of its engines beside the replays, so that a change of the answers can be told from chance.

Everything is told to the journal as `check` events: how likely the baseline's engine finds the arms' answers, what
it would have put where greedy answers part, and the cold/warm control.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tui.errors import VtuneError
from tui.session.check import answer as answers
from tui.session.check import control, fork
from tui.session.check.answer import Answer, ByRequest, Pair
from tui.session.check.fork import LOOKED_AT, Fork
from tui.session.check.scorer import Scorer
from tui.traffic.recording import Request

SCORED = 16  # answers an arm
OF_A_REQUEST = 2  # answers an arm: other requests say more than more replays
LONGEST = 1000  # prompt tokens of a scored answer
ANSWER = 512  # tokens of an answer that are scored
FAULTS = 3  # after so many the engine is asked no more


@dataclass
class Asker:
    """Asks one engine, at `url`. What it refuses is told as a fault; a few faults end the asking, and nothing else."""

    emit: Callable[..., None]
    client: httpx.AsyncClient
    url: str
    model: str
    requests: Mapping[str, Request]
    _prompts: dict[str, list[int]] = field(default_factory=dict)
    _faults: int = 0

    @property
    def _scorer(self) -> Scorer:
        return Scorer(self.client, self.url, self.model)

    # -- cold against warm

    async def cold_and_warm(self, arm: str, run: int, outcomes: Iterable[Any], greedy: Sequence[str],
                            block_size: int | None) -> None:  # fmt: skip
        """On the engine that serves `arm` with prefix caching on, right after its replay `run`."""
        length = {o.id: o.prompt_tokens for o in outcomes if o.status == "ok" and o.prompt_tokens}
        chosen = control.choose((self.requests[i] for i in greedy if i in self.requests), length, block_size)
        for request in chosen:
            try:
                cold, warm = [
                    await control.ask(self.client, self.url, self.model, request, f"vtune-control-{run}-{request.id}")
                    for _ in range(2)
                ]
                parted = await self._parted(request.id, cold.text, warm.text) if cold.text != warm.text else None
            except (httpx.HTTPError, ValueError, VtuneError) as error:
                self._fault(f"no cold/warm control: {error or type(error).__name__}")
                return
            self.emit("check", asked="control", n=run, arm=arm, id=request.id, cold=_hash(cold.text),
                      warm=_hash(warm.text), cached=warm.cached,
                      fork=None if parted is None else parted.to_json())  # fmt: skip

    # -- on the baseline's engine

    async def forks(self, pairs: Iterable[Pair]) -> None:
        """What the engine thinks of both tokens where each pair parts."""
        for pair in pairs:
            if pair.one.text is None or pair.other.text is None or self._faults >= FAULTS:
                continue
            try:
                parted = await self._parted(pair.id, pair.one.text, pair.other.text)
            except VtuneError as error:
                self._fault(f"whether greedy answers part at a tie: {error.what}")
                continue
            if parted is not None:
                self.emit("check", asked="fork", id=pair.id, runs=[pair.one.run, pair.other.run], fork=parted.to_json())

    async def likelihoods(self, wanted: Iterable[Answer]) -> None:
        for one in wanted:
            if self._faults >= FAULTS:
                return
            try:
                prompt, tokens = await self._prompt(one.id), await self._scorer.answer(one.text or "")
                found = await self._scorer.likelihood(prompt, tokens[:ANSWER]) if tokens else None
            except VtuneError as error:
                self._fault(f"how likely the answers are: {error.what}")
                continue
            if found is not None:
                self.emit("check", asked="score", n=one.run, id=one.id, tokens=found.tokens,
                          logprob=round(found.logprob, 5))  # fmt: skip

    async def _parted(self, id: str, one: str, other: str) -> Fork | None:
        scorer = self._scorer
        ours, theirs = await scorer.answer(one), await scorer.answer(other)
        place = fork.parting(ours, theirs)
        if place is None:
            return None
        choices = await scorer.choices([*await self._prompt(id), *ours[:place]])
        return Fork.of(place, *(row[place] if place < len(row) else None for row in (ours, theirs)), choices)

    async def _prompt(self, id: str) -> list[int]:
        if id not in self._prompts:
            self._prompts[id] = await self._scorer.prompt(self.requests[id])
        return self._prompts[id]

    def _fault(self, what: str) -> None:
        self._faults += 1
        self.emit("check", asked="fault", what=what)


def parting_pairs(found: Mapping[str, ByRequest], base: str, greedy: Sequence[str]) -> list[Pair]:
    """Greedy answers to look at: each arm's that differ from the baseline's, and A against A."""
    pairs = [pair for arm, rows in found.items() for pair in answers.within(rows, greedy).pairs[:LOOKED_AT]]
    others = [rows for arm, rows in found.items() if arm != base]
    return [*pairs, *(p for rows in others for p in answers.between(rows, found[base], greedy).pairs[:LOOKED_AT])]


def to_score(found: Mapping[str, ByRequest], base: str, sampled: Sequence[str]) -> list[Answer]:
    """The same requests of every arm, at most `SCORED` answers each: sampled ones first, then others that differ."""
    arms = list(found.values())
    common = [i for i in found[base] if all(rows.get(i) for rows in arms)]
    differ = [i for i in common if len({a.key for rows in arms for a in rows[i]}) > 1 and _fits(arms, i)]
    first = [i for i in differ if i in set(sampled)]
    scored: list[Answer] = []
    room = dict.fromkeys(found, SCORED)
    for i in [*first, *(i for i in differ if i not in set(first))]:
        rows = {arm: of_arm[i][:OF_A_REQUEST] for arm, of_arm in found.items()}
        if all(room[arm] >= len(rows[arm]) for arm in found):
            scored += [answer for of_arm in rows.values() for answer in of_arm]
            room = {arm: room[arm] - len(rows[arm]) for arm in found}
    return scored


def _hash(text: str) -> str:
    """The journal needs to know whether two answers are one, not what they say."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _fits(arms: Sequence[ByRequest], id: str) -> bool:
    every = [answer for rows in arms for answer in rows[id]]
    return all(a.text and a.prompt_tokens and a.prompt_tokens <= LONGEST for a in every)
