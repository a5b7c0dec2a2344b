"""The KV pool in a run: what fits, what it held, what it lost."""

from collections.abc import Mapping
from typing import Any

from tui.session.report.figures import count, seconds, share
from tui.session.report.markdown import code, escaped, table


def facts(result: Mapping[str, Any]) -> list[str | None]:
    """Lines for the list of what the engine did; what is not known has no line."""
    kv, prefix = result["kv_cache"], result["prefix_cache"]
    return [
        _pool(kv),
        _partial(kv.get("partial_blocks")),
        _longest(kv.get("longest")),
        _alternatives(kv),
        _predicted(kv.get("predicted")),
        _residency(kv.get("residency")),
        _lost(prefix.get("lost")),
        *(_prefix(row) for row in (prefix.get("lost") or {}).get("prefixes") or ()),
        _draft(result["speculative"]),
    ]


def _pool(kv: Mapping[str, Any]) -> str | None:
    if kv.get("blocks") is None:
        return None
    used = "" if kv["blocks_used_peak"] is None else f", at most {count(kv['blocks_used_peak'])} in use"
    return (
        f"KV pool: {count(kv['tokens'])} tokens, {count(kv['blocks'])} blocks of {count(kv['block_size'])}{used}; "
        "blocks that are cached and held by nobody count as free"
    )


def _partial(partial: Mapping[str, Any] | None) -> str | None:
    if not partial or partial["share"] is None:
        return None
    return (
        f"partly filled last blocks left {share(partial['share'])} of the blocks of {count(partial['sequences'])} "
        f"sequences empty ({count(partial['empty_tokens'])} tokens)"
    )


def _longest(longest: Mapping[str, Any] | None) -> str | None:
    if not longest or longest["tokens"] is None:
        return None
    many = "one request" if longest["in_flight"] == 1 else f"{count(longest['in_flight'])} requests"
    return (
        f"with {many} at a time, as at the peak, each may have "
        f"{count(longest['tokens'])} tokens; the longest had {count(longest['seen'])}"
    )


def _alternatives(kv: Mapping[str, Any]) -> str | None:
    rows = kv.get("would_hold")
    if not rows:
        return None
    words = (f"{code(row['lever'] + '=' + row['value'])} {count(row['tokens'])}" for row in rows)
    return f"tokens that the same memory would hold, worked out: {', '.join(words)}"


def _predicted(predicted: Mapping[str, Any] | None) -> str | None:
    if not predicted:
        return None
    worked, told = predicted["tokens"], predicted["reported"]
    words = "as worked out" if worked == told else f"{count(worked)} had been worked out"
    return f"this engine reports {count(told)} KV tokens: {words} from engine {predicted['from_engine']}"


def _residency(residency: Mapping[str, Any] | None) -> str | None:
    if residency is None:
        return None
    if not residency["blocks"]:
        return "no sampled KV block was taken for something else"
    gap = "" if residency["reuse_gap_s"] is None else f", {seconds(residency['reuse_gap_s'])} between two askings"
    return (
        f"{count(residency['blocks'])} sampled KV blocks were taken for something else, last blocks that nobody could "
        f"find again among them: on average {seconds(residency['lifetime_s'])} after they were filled and "
        f"{seconds(residency['idle_s'])} after they were last asked for{gap}"
    )


def _lost(lost: Mapping[str, Any] | None) -> str | None:
    if not lost or not lost["evicted_tokens"]:
        return None
    return (
        f"evicted and asked for again: {count(lost['evicted_tokens'])} of {count(lost['prompt_tokens'])} prompt tokens "
        f"in {count(lost['requests'])} requests; {count(lost['evicted_soon_tokens'])} of them a pool of twice the size "
        "would have kept"
    )


def _prefix(row: Mapping[str, Any]) -> str:
    name = f"the prefix {code(row['quote'])}" if row["quote"] else "a prefix"
    return (
        f"{name} was asked for {len(row['asked_by'])}x after it was evicted (first by {escaped(row['asked_by'][0])}, "
        f"last used by {escaped(row['last_used_by'])} {seconds(row['idle_s'])} before; "
        f"{count(row['lost_tokens'])} tokens)"
    )


def _draft(speculative: Mapping[str, Any]) -> str | None:
    cost = speculative.get("draft_kv_tokens")
    return None if cost is None else f"the draft's own KV cache costs {count(cost)} tokens of the pool"


def turns(result: Mapping[str, Any]) -> str:
    rows = result["prefix_cache"].get("turns")
    if not rows:
        return ""
    cells = [
        [count(row["turn"]), count(row["requests"]), count(row["prompt_tokens"]), count(row["cached_tokens"]),
         count(row["from_turn_before"])]
        for row in rows
    ]  # fmt: skip
    head = ("turn", "requests", "prompt tokens", "cached", "of that because of the turn before")
    return table(head, cells)


def engines(result: Mapping[str, Any]) -> str:
    """The engines behind the URL, the fullest first."""
    rows = result["kv_cache"].get("engines")
    if not rows:
        return ""
    cells = [
        [escaped(row["engine"]), share(row["usage_peak"]), count(row["kv_tokens"]), count(row["preemptions"]),
         count(row["prompt_tokens"]), count(row["output_tokens"]), share(row["hit_rate"])]
        for row in rows
    ]  # fmt: skip
    head = ("engine", "KV peak", "KV tokens", "preemptions", "prompt tokens", "output tokens", "hit rate")
    return table(head, cells)
