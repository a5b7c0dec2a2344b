"""Then scheduling: short requests that wait for somebody else's long prefill."""

from tui.engine.lever_values import Chunking
from tui.errors import VtuneError
from tui.session.next_step.step import Can, Result, Step, applied, first_of, part

FEWEST = 3
TIMES = 2.0  # slower than short ones that met no long prefill
LEAST_S = 0.05
LEAST_THRESHOLD = 64


def behind_long(result: Result, can: Can) -> Step | None:
    met = part(result, "queueing") or {}
    behind, alone = met.get("behind_ttft_s"), met.get("alone_ttft_s")
    if (met.get("behind") or 0) < FEWEST or behind is None or alone is None:
        return None
    if behind < TIMES * alone or behind - alone < LEAST_S:
        return None
    why = (
        f"{met['behind']} short requests had a TTFT of {behind:.2f} s behind prefills of up to "
        f"{met['longest_tokens']:,} tokens, {alone:.2f} s without one"
    )
    return first_of(can, [("chunked-prefill", _value(applied(result, "chunked-prefill")))], why)


def _value(words: str | None) -> str | None:
    """Chunking where it is off; else a share of the budget for the long ones, which otherwise take all of it."""
    try:
        now = Chunking.read(words or "")
    except VtuneError:
        return None
    if not now.on:
        return "on"
    if now.budget is None or now.threshold or now.budget // 4 < LEAST_THRESHOLD:
        return None
    return Chunking(True, now.budget, now.budget // 4).write()
