"""Why prompts that look alike miss, and what each cause costs."""

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from tui.traffic.inspect import alike, difference, turns
from tui.traffic.inspect.difference import Finding
from tui.traffic.inspect.mends import Mend
from tui.traffic.inspect.rows import Row, ceiling, row
from tui.traffic.prefix import Prompt
from tui.traffic.recording import Request

MOST = 1000  # requests that are compared with each other
ROUNDS = 6  # a cause may hide behind another
MOST_BREAKS = 12
LEAST_GAIN = 0.0005

Count = Callable[[Sequence[Request]], list[Sequence[int]]]  # the tokens of each request


@dataclass(frozen=True, slots=True)
class Break:
    """`ceiling_if_mended` is with this one mended alone, or, where it hides behind others, with those too."""

    kind: str
    quote: str
    other: str
    where: str
    advice: str
    requests: int
    examples: tuple[str, ...]
    ceiling_if_mended: float
    gain: float
    with_others: bool
    mend: Mend


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Worst first; `mended` are the requests with every break mended, `ceiling` is theirs."""

    breaks: tuple[Break, ...]
    mended: tuple[Request, ...]
    ceiling: float | None


@dataclass
class Counted:
    """Rows of requests, each prompt counted once."""

    count: Count
    block_size: int
    per_token: float | None = None  # characters, where tokens are made of them
    _tokens: dict[bytes, Sequence[int]] = field(default_factory=dict)
    _rows: dict[tuple[int, str | None, int], Row] = field(default_factory=dict)

    def rows(self, requests: Sequence[Request]) -> list[Row]:
        keys = [_key(request) for request in requests]
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in self._tokens}
        if missing:
            found = (array("q", ids) for ids in self.count(list(missing.values())))
            self._tokens.update(zip(missing, found, strict=True))
        tokens = [self._tokens[key] for key in keys]
        prompts = turns.prompts(requests, tokens, self.per_token)
        return [self._row(prompt, request) for prompt, request in zip(prompts, requests, strict=True)]

    def _row(self, prompt: Prompt, request: Request) -> Row:
        key = (id(prompt.tokens), prompt.cache_salt, hash(tuple(prompt.answer)))
        if key not in self._rows:
            self._rows[key] = row(prompt, self.block_size)
        kept = self._rows[key]
        return replace(kept, id=request.id, group=request.group)

    def ceiling(self, requests: Sequence[Request]) -> float:
        return ceiling(self.rows(requests)) or 0.0


def _key(request: Request) -> bytes:
    body = {key: request.body.get(key) for key in PROMPT_KEYS if key in request.body}
    return blake2b(json.dumps(body).encode(), digest_size=16).digest()


PROMPT_KEYS = (
    "messages", "prompt", "tools", "chat_template", "chat_template_kwargs", "documents", "add_generation_prompt",
    "continue_final_message", "add_special_tokens",
)  # fmt: skip


def examine(requests: Sequence[Request], counted: Counted) -> Diagnosis:
    """Find the causes round by round, each time on what the mends so far have made of the requests."""
    found = _found(requests, 3 * counted.block_size)
    base = counted.ceiling(requests)
    kept = _worthwhile(list(found), requests, counted)
    together = counted.ceiling(mended := applied(kept, requests))
    alone = {mend: counted.ceiling(applied([mend], requests)) for mend in kept}
    hidden = {mend for mend in kept if alone[mend] - base < LEAST_GAIN}
    breaks = [_break(mend, found[mend], requests, base, alone[mend], together, mend in hidden) for mend in kept]
    breaks.sort(key=lambda one: (one.with_others, -one.gain))
    return Diagnosis(tuple(breaks), tuple(mended), together if breaks else base)


def _worthwhile(mends: list[Mend], requests: Sequence[Request], counted: Counted) -> list[Mend]:
    """Without those that the others make up for, the last found first."""
    kept, reached = mends, counted.ceiling(applied(mends, requests))
    for mend in reversed(mends):
        fewer = [other for other in kept if other != mend]
        changed = counted.ceiling(applied(fewer, requests))
        if reached - changed < LEAST_GAIN:
            kept, reached = fewer, changed
    return kept


def applied(mends: Iterable[Mend], requests: Sequence[Request]) -> list[Request]:
    """What the mends, one after another, make of the requests. The engine gives other answers to other prompts, so
    that those which a later turn carries will not be in its cache: the replies are marked."""
    done = list(requests)
    for mend in mends:
        done = mend.apply(done)
    return [_marked(was, new) for was, new in zip(requests, done, strict=True)]


def _marked(was: Request, new: Request) -> Request:
    if was is new or new.reply is None or _key(was) == _key(new):
        return new
    return replace(new, reply={**new.reply, turns.CHANGED: True})


def _found(requests: Sequence[Request], worth: int) -> dict[Mend, Finding]:
    found: dict[Mend, Finding] = {}
    state = list(requests)
    for _ in range(ROUNDS):
        seen: dict[Mend, list[Finding]] = {}
        for one, other in alike.pairs(state[:MOST], worth):
            finding = difference.find(one, other)
            if finding is not None and finding.mend not in found:
                seen.setdefault(finding.mend, []).append(finding)
        room = MOST_BREAKS - len(found)
        new = sorted(seen, key=lambda mend: -len(seen[mend]))[:room]
        if not new:
            break
        found |= {mend: seen[mend][0] for mend in new}
        state = applied(new, state)
    return found


def _break(
    mend: Mend, finding: Finding, requests: Sequence[Request], base: float, alone: float, together: float, hidden: bool
) -> Break:
    changed = [a.id for a, b in zip(requests, mend.apply(requests), strict=True) if a is not b]
    reached = together if hidden else alone
    return Break(
        mend.kind, finding.quote, finding.other, finding.where, mend.advice, len(changed), tuple(changed[:5]),
        reached, reached - base, hidden, mend,
    )  # fmt: skip
