"""The result of an inspection, schema ``vtune.inspect/1``, and its lines for a person."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tui.session.stats import dist
from tui.traffic.inspect import capacity
from tui.traffic.inspect.difference import shown
from tui.traffic.inspect.doctor import Break, Diagnosis
from tui.traffic.inspect.rows import Endless, Row, Share

SCHEMA = "vtune.inspect/1"
MOST_GROUPS = 20
_BY = {"exact": "exact tokens", "characters": "tokens of 4 characters", "hash-ids": "lengths and hash ids alone"}


class Tally:
    """Everything that one pass over the rows gives, in memory that grows with distinct blocks only."""

    def __init__(self, block_size: int, unit: int | None = None) -> None:
        self.block_size = block_size
        self.unit = unit or block_size
        self.whole = Share()
        self.groups: dict[str | None, Share] = defaultdict(Share)
        self.lengths: list[int] = []
        self.largest = 0
        self.cache = Endless()

    def feed(self, row: Row) -> None:
        reusable = row.reusable(self.cache.serve(row))
        self.whole.add(row, reusable)
        self.groups[row.group].add(row, reusable)
        self.lengths.append(row.tokens)
        self.largest = max(self.largest, row.size)


def result(
    name: str, tokens: str, tally: Tally, pools: Sequence[capacity.Measured], known: int | None,
    diagnosis: Diagnosis | None, notes: Iterable[str],
) -> dict[str, Any]:  # fmt: skip
    return {
        "schema": SCHEMA, "recording": name, "tokens": tokens, "block_size": tally.block_size,
        "requests": tally.whole.requests, "prompt_tokens": dist(tally.lengths), "ceiling": tally.whole.rate,
        "capacity": [{"kv_tokens": p.kv_tokens, "hit_rate": p.hit_rate, "too_long": p.too_long,
                      "engine": p.kv_tokens == known} for p in pools],
        "groups": _groups(tally), "breaks": [_break(one) for one in (diagnosis.breaks if diagnosis else ())],
        "ceiling_if_all_mended": diagnosis.ceiling if diagnosis and diagnosis.breaks else None,
        "distinct_tokens": len(tally.cache) * tally.unit, "notes": list(notes),
    }  # fmt: skip


def _groups(tally: Tally) -> list[dict[str, Any]]:
    if set(tally.groups) == {None}:
        return []
    largest = sorted(tally.groups.items(), key=lambda item: -item[1].prompt_tokens)[:MOST_GROUPS]
    return [
        {"name": name, "requests": share.requests, "prompt_tokens": share.prompt_tokens, "ceiling": share.rate,
         "shared_prefix_tokens": share.common * tally.unit if share.requests > 1 else None,
         "shared_prefix_blocks": share.common * tally.unit // tally.block_size if share.requests > 1 else None}
        for name, share in largest
    ]  # fmt: skip


def _break(one: Break) -> dict[str, Any]:
    return {
        "kind": one.kind, "quote": one.quote, "other": one.other, "where": one.where, "requests": one.requests,
        "examples": list(one.examples), "ceiling_if_mended": one.ceiling_if_mended, "gain": one.gain,
        "with_others": one.with_others, "advice": one.advice,
    }  # fmt: skip


def lines(result: dict[str, Any]) -> list[str]:
    """For a person; every line is safe to print."""
    lengths = result["prompt_tokens"]
    typical = "unknown" if lengths["p50"] is None else f"p50 {lengths['p50']:,.0f}, longest {lengths['max']:,.0f}"
    told = [
        f"{shown(result['recording'])}: {result['requests']:,} requests, {_BY[result['tokens']]}"
        f" ({typical} a prompt), blocks of {result['block_size']}",
        f"ceiling of the hit rate: {_percent(result['ceiling'])}, with an endless cache, one request after another",
    ]
    for pool in result["capacity"]:
        own = " (the engine's)" if pool["engine"] else ""
        lost = f", {pool['too_long']} requests do not fit" if pool["too_long"] else ""
        told.append(f"  {pool['kv_tokens']:>12,} tokens of KV pool{own}: {_percent(pool['hit_rate'])}{lost}")
    for group in result["groups"]:
        name = "(no group)" if group["name"] is None else shown(group["name"])
        shared, blocks = group["shared_prefix_tokens"], group["shared_prefix_blocks"]
        prefix = "" if shared is None else f", all share the first {shared:,} tokens ({blocks} blocks)"
        told.append(f"  group {name}: {_requests(group['requests'])}, {_percent(group['ceiling'])}{prefix}")
    told += _breaks(result)
    return [*told, *(f"note: {note}" for note in result["notes"])]


def _breaks(result: dict[str, Any]) -> list[str]:
    if not result["breaks"]:
        hashed = result["tokens"] == "hash-ids"
        return ["no text: why prompts part can't be seen" if hashed else "nothing breaks a prefix that could be mended"]
    told = [f"what breaks prefixes, worst first; with all of it mended: {_percent(result['ceiling_if_all_mended'])}"]
    for number, one in enumerate(result["breaks"], 1):
        together = " (together with the others)" if one["with_others"] else ""
        reached = f"{_percent(one['ceiling_if_mended'])} if mended{together}"
        told += [f"{number}. {one['kind']}, {_requests(one['requests'])}: {reached}",
                 f"   at {one['where']}",
                 f"   {one['quote']!r} against {one['other']!r}",
                 f"   {one['advice']}"]  # fmt: skip
    return told


def _requests(count: int) -> str:
    return f"{count:,} request" + ("" if count == 1 else "s")


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{100 * rate:.1f} %"
