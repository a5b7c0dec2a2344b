"""Then memory: requests that were preempted, or a pool that was full."""

from tui.engine import lever_values
from tui.errors import VtuneError
from tui.session.next_step.step import Can, Result, Step, applied, first_of, part, percent

FULL = 0.95


def roomier(result: Result) -> list[tuple[str, str | None]]:
    """What holds more tokens: half the bytes a token, then more bytes."""
    dtype = applied(result, "kv-dtype")
    return [("kv-dtype", "fp8" if dtype == "auto" else None), ("kv-pool", _doubled(applied(result, "kv-pool")))]


def _doubled(words: str | None) -> str | None:
    try:
        return lever_values.size(2 * lever_values.bytes_of("kv-pool", words or ""))
    except VtuneError:  # a share of the device, or vLLM's own choice
        return None


def full(result: Result, can: Can) -> Step | None:
    kv = part(result, "kv_cache") or {}
    peak, preempted = kv.get("usage_peak"), kv.get("preemptions") or 0
    if not preempted and (peak is None or peak < FULL):
        return None
    used = "unknown" if peak is None else percent(peak)
    again = f"{preempted} preemptions, whose prefill was done again" if preempted else "no preemption yet"
    why = f"the KV pool was {used} full, {again}"
    return first_of(can, [*roomier(result), ("max-num-seqs", _fewer(result))], why)


def _fewer(result: Result) -> str | None:
    """As many sequences of the longest length seen as fit; None where more fit than ran, or it is not known."""
    kv = part(result, "kv_cache") or {}
    tokens, longest, ran = kv.get("tokens"), part(kv, "longest", "seen"), part(result, "in_flight", "peak")
    if not tokens or not longest or not ran:
        return None
    fit = max(1, tokens // longest)
    return str(fit) if fit < ran else None
