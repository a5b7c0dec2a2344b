"""Only then guess tokens: speculation that does not pay, or that would."""

from dataclasses import replace

from tui.engine.lever_values import Speculation
from tui.errors import VtuneError
from tui.session.next_step.step import Can, Result, Step, applied, first_of, part, percent

PAYS = 1.15  # tokens a step; under it, the steps spent on proposals cost more than they bring
RARE = 0.15  # of a position's proposals accepted
COPIED = 0.20  # of the words; the tokens that a real engine accepted were half as many again
LEAST_OUTPUT = 16
MOST_AT_ONCE = 16  # with more requests at a time a step is full anyway


def not_paying(result: Result, can: Can) -> Step | None:
    spec = part(result, "speculative") or {}
    steps, rate = spec.get("tokens_per_step"), spec.get("acceptance_rate")
    if spec.get("state") != "on" or steps is None or rate is None or steps >= PAYS:
        return None
    why = f"{steps:.2f} tokens a step: {percent(rate)} of the proposed tokens were accepted{_but(result)}"
    return first_of(can, [("speculative", "off")], why)


def _but(result: Result) -> str:
    """Groups whose requests do accept: for them alone it may pay."""
    rates = {name: part(group, "acceptance_rate") for name, group in (part(result, "groups") or {}).items()}
    good = [f"{name} accepts {percent(rate)}" for name, rate in rates.items() if rate is not None and rate >= 0.4]
    return f" (but {', '.join(good)})" if good else ""


def too_many(result: Result, can: Can) -> Step | None:
    """Positions at the end that are hardly ever accepted are verified in vain."""
    shares = part(result, "speculative", "per_position") or []
    try:
        now = Speculation.read(applied(result, "speculative") or "off")
    except VtuneError:
        return None
    if now.tokens is None or len(shares) < 2 or shares[-1] >= RARE:
        return None
    fewer = max(1, sum(share >= RARE for share in shares))
    why = f"the proposal at position {len(shares)} was accepted in {percent(shares[-1])} of the drafts"
    return first_of(can, [("speculative", replace(now, tokens=fewer).write())], why) if fewer < now.tokens else None


def would_copy(result: Result, can: Can) -> Step | None:
    spec = part(result, "speculative") or {}
    share, length = part(spec, "copied", "share"), part(result, "output_tokens", "p50")
    at_once = part(result, "in_flight", "mean")
    if spec.get("state") != "off" or share is None or share < COPIED or (length or 0) < LEAST_OUTPUT:
        return None
    if at_once is not None and at_once > MOST_AT_ONCE:
        return None
    why = f"{percent(share)} of the answers' words could have been copied from what their prompts say"
    return first_of(can, [("speculative", Speculation("ngram", 4, (2, 4)).write())], why)
