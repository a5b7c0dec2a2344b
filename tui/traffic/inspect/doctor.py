"""Why prompts that look alike miss, and what each cause costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui.traffic.inspect import alike, difference, turns
from tui.traffic.inspect.counted import Counted, key
from tui.traffic.inspect.difference import Finding
from tui.traffic.inspect.mends import Mend
from tui.traffic.recording import Request

MOST = 1000  # requests that are compared with each other
ROUNDS = 6  # a cause may hide behind another
MOST_BREAKS = 32
LEAST_GAIN = 0.0005


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


def examine(requests: Sequence[Request], counted: Counted) -> Diagnosis:
    """Find the causes round by round, each time on what the mends so far have made of the first requests, and weigh
    them there; what they cost is counted over all of them."""
    first = requests[:MOST]
    found = _found(first, 3 * counted.block_size)
    kept = _worthwhile(list(found), first, counted)
    base = counted.ceiling(requests)
    mended, changed = _step_by_step(kept, requests)
    together = counted.ceiling(mended)
    alone = {mend: counted.ceiling(applied([mend], requests)) for mend in kept if len(kept) > 1}
    hidden = {mend for mend in alone if alone[mend] - base < LEAST_GAIN}
    breaks = [_break(mend, found[mend], changed[mend], base, alone.get(mend, together), together, mend in hidden)
              for mend in kept]  # fmt: skip
    breaks.sort(key=lambda one: (one.with_others, -one.gain))
    return Diagnosis(tuple(breaks), tuple(mended), together if breaks else base)


def _worthwhile(mends: list[Mend], requests: Sequence[Request], counted: Counted) -> list[Mend]:
    """Without those that the others make up for, the last found first; again, as long as one that is left out has made
    another one needless."""
    kept, reached, before = mends, counted.ceiling(applied(mends, requests)), None
    while kept != before:
        before = kept
        for mend in reversed(before):
            fewer = [other for other in kept if other != mend]
            changed = counted.ceiling(applied(fewer, requests))
            if reached - changed < LEAST_GAIN:
                kept, reached = fewer, changed
    return kept


def applied(mends: Iterable[Mend], requests: Sequence[Request]) -> list[Request]:
    """What the mends, one after another, make of the requests. The engine gives other answers to other prompts, so
    that those which a later turn carries will not be in its cache: the replies are marked."""
    return _step_by_step(mends, requests)[0]


def _step_by_step(
    mends: Iterable[Mend], requests: Sequence[Request]
) -> tuple[list[Request], dict[Mend, list[str]]]:
    """(what `applied` gives, ids of those that each mend changed: one may concern what another left)."""
    changed, state = {}, list(requests)
    for mend in mends:
        before, state = state, mend.apply(state)
        changed[mend] = [a.id for a, b in zip(before, state, strict=True) if a is not b]
    return [_marked(was, new) for was, new in zip(requests, state, strict=True)], changed


def _marked(was: Request, new: Request) -> Request:
    if was is new or new.reply is None or key(was) == key(new):
        return new
    return replace(new, reply={**new.reply, turns.CHANGED: True})


def _found(requests: Sequence[Request], worth: int) -> dict[Mend, Finding]:
    found: dict[Mend, Finding] = {}
    state = list(requests)
    for _ in range(ROUNDS):
        seen: dict[Mend, list[Finding]] = {}
        for one, other in alike.pairs(state, worth):
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
    mend: Mend, finding: Finding, changed: list[str], base: float, alone: float, together: float, hidden: bool
) -> Break:
    reached = together if hidden else alone
    return Break(
        mend.kind, finding.quote, finding.other, finding.where, mend.advice, len(changed), tuple(changed[:5]),
        reached, reached - base, hidden, mend,
    )  # fmt: skip
