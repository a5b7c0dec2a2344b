"""First remove repetition: prefixes that are not reused, or not any more."""

from tui.session.next_step.memory import roomier
from tui.session.next_step.step import Can, Result, Step, applied, first_of, part, percent

LEAST_CEILING = 0.10
REACHED = 0.9  # of the ceiling
LEAST_LOST = 0.02  # of all prompt tokens
LEAST_GAIN = 0.10  # of the ceiling, by smaller blocks


def caching_off(result: Result, can: Can) -> Step | None:
    ceiling = part(result, "prefix_cache", "ceiling")
    if part(result, "prefix_cache", "state") != "off" or ceiling is None or ceiling < LEAST_CEILING:
        return None
    why = f"{percent(ceiling)} of this recording's prompt tokens could be reused, and prefix caching is off"
    return first_of(can, [("prefix-caching", "on")], why)


def evicted(result: Result, can: Can) -> Step | None:
    """The ceiling is not reached, because the pool lost what was asked for again."""
    prefix = part(result, "prefix_cache") or {}
    rate, ceiling, lost = prefix.get("hit_rate"), prefix.get("ceiling"), prefix.get("lost") or {}
    if rate is None or not ceiling or rate >= REACHED * ceiling or not lost.get("prompt_tokens"):
        return None
    share = lost["evicted_tokens"] / lost["prompt_tokens"]
    if share < LEAST_LOST:
        return None
    why = (
        f"hits reach {percent(rate)} of {percent(ceiling)} possible, and {percent(share)} of the prompt tokens were "
        f"asked for again after their blocks had been evicted{_with_more(prefix)}"
    )
    return first_of(can, roomier(result), why)


def _with_more(prefix: dict) -> str:
    pools = prefix.get("pools") or []
    if len(pools) < 2 or pools[1]["hit_rate"] is None:
        return ""
    return f"; a pool of {pools[1]['kv_tokens']:,} tokens would reach {percent(pools[1]['hit_rate'])}"


def smaller_blocks(result: Result, can: Can) -> Step | None:
    """More of a shared prefix falls into whole blocks; the largest size that gives nearly all of it."""
    ceiling, rows = part(result, "prefix_cache", "ceiling"), part(result, "prefix_cache", "ceilings") or []
    size = part(result, "kv_cache", "block_size")
    known = [row for row in rows if row["ceiling"] is not None and size and row["block_size"] < size]
    if ceiling is None or not known or applied(result, "prefix-caching") != "on":
        return None
    best = max(row["ceiling"] for row in known)
    if best - ceiling < LEAST_GAIN:
        return None
    row = max((row for row in known if row["ceiling"] >= best - 0.01), key=lambda row: row["block_size"])
    why = (
        f"in blocks of {row['block_size']} instead of {size} tokens {percent(row['ceiling'])} of the prompt tokens "
        f"could be reused, not {percent(ceiling)}"
    )
    return first_of(can, [("block-size", str(row["block_size"]))], why)
