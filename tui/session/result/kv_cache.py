"""What a run did with the KV pool: how full, how well filled, how long its blocks lived, and what would fit."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tui.metrics.scrape import Scrape
from tui.metrics.window import Window
from tui.session.pool import Pool, draft_cost, pool_of, predicted
from tui.session.result.counters import Seen
from tui.session.state import EngineRecord, RunRecord
from tui.traffic.outcome import Outcome


def kv_cache(
    seen: Seen, run: RunRecord, engine: EngineRecord | None, before: EngineRecord | None,
    outcomes: Sequence[Outcome], last_end_s: float | None, in_flight: int | None,
) -> dict[str, Any]:  # fmt: skip
    """`before` is the engine started before this one, `in_flight` the most requests at a time."""
    pool = pool_of(engine)
    usage = usage_of(seen, run.started_at, last_end_s)
    return {
        **usage,
        "tokens": None if engine is None else engine.kv_cache_tokens,
        "block_size": None if engine is None else engine.block_size,
        "blocks": None if pool is None else pool.blocks,
        "blocks_used_peak": _blocks(usage["usage_peak"], pool),
        "partial_blocks": partial_blocks(outcomes, pool.block_size) if pool else None,
        "longest": _longest(pool, engine, outcomes, in_flight),
        "would_hold": pool.alternatives() if pool else None,
        "predicted": _predicted(engine, before),
        "residency": residency(seen.window),
        "engines": per_engine(seen),
    }


def usage_of(seen: Seen, started_at: float, last_end_s: float | None) -> dict[str, Any]:
    """Usage of the fullest engine, 0..1; the mean is over the time in which requests ran."""
    points = [(s.t, s.kv_usage) for s in seen.scrapes if s.kv_usage is not None]
    until = started_at + last_end_s if last_end_s is not None else None
    during = [p for p in points if until is None or p[0] <= until]
    return {
        "usage_peak": max((usage for _, usage in points), default=None),
        "usage_mean": _mean_over_time(during),
        "preemptions": seen.window.preemptions,
    }


def _mean_over_time(points: Sequence[tuple[float, float]]) -> float | None:
    """Trapezoids: a busy engine answers scrapes late, so they are not evenly spaced."""
    span = points[-1][0] - points[0][0] if points else 0.0
    if span <= 0:
        return points[0][1] if points else None
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points)) / span


def _blocks(usage: float | None, pool: Pool | None) -> int | None:
    return None if usage is None or pool is None else round(usage * pool.usable)


def partial_blocks(outcomes: Sequence[Outcome], block_size: int) -> dict[str, Any]:
    """What the last block of each sequence left empty, of all the blocks that the sequences held at their ends.

    The last token is never fed back, so it takes no place. A block that two sequences shared counts for both.
    """
    held = [
        o.prompt_tokens + max(0, (o.output_tokens or 1) - 1)
        for o in outcomes
        if o.status == "ok" and o.prompt_tokens is not None
    ]
    slots = sum(-(-tokens // block_size) * block_size for tokens in held)
    empty = slots - sum(held)
    return {
        "sequences": len(held),
        "empty_tokens": empty if held else None,
        "share": empty / slots if slots else None,
    }


def _longest(
    pool: Pool | None, engine: EngineRecord | None, outcomes: Sequence[Outcome], in_flight: int | None
) -> dict[str, Any] | None:
    """How long sequences may be when so many run at a time, evenly spread over the engines."""
    lengths = [o.prompt_tokens + (o.output_tokens or 0) for o in outcomes if o.prompt_tokens is not None]
    at_once = None if not in_flight or engine is None else -(-in_flight // max(1, engine.engines))
    fit = None if pool is None or at_once is None or engine is None else pool.longest(at_once, engine.max_model_len)
    return None if not lengths else {"in_flight": in_flight, "tokens": fit, "seen": max(lengths)}


def _predicted(engine: EngineRecord | None, before: EngineRecord | None) -> dict[str, Any] | None:
    """What was worked out from the engine before, beside what this one says of itself."""
    if engine is None or before is None:
        return None
    tokens, pool = predicted(engine, before), pool_of(engine)
    if tokens is None or pool is None:
        return None
    return {"from_engine": before.number, "tokens": tokens, "reported": pool.tokens}


def residency(window: Window) -> dict[str, Any] | None:
    """Of the blocks that were taken for something else in the run; None where the engine does not tell."""
    if window.kv_lifetime_count is None:
        return None
    return {
        "blocks": window.kv_lifetime_count,
        "lifetime_s": window.kv_lifetime_s,
        "idle_s": window.kv_idle_s,
        "reuse_gap_s": window.kv_reuse_gap_s,
        "reuse_gaps": window.kv_reuse_gap_count,
    }


def per_engine(seen: Seen) -> list[dict[str, Any]] | None:
    """A row for each engine behind the URL, the one whose pool was fullest first; None for a single one."""
    names = list(dict.fromkeys(e.engine for s in seen.scrapes for e in s.engines))
    if len(names) < 2:
        return None
    rows = [_engine_row(name, seen.scrapes) for name in names]
    return sorted(rows, key=lambda row: -1.0 if row["usage_peak"] is None else -row["usage_peak"])


def _engine_row(name: str, scrapes: Sequence[Scrape]) -> dict[str, Any]:
    alone = [scrape.only(name) for scrape in scrapes]
    window = Window.over(alone)
    told = alone[-1].cache_config.get("kv_cache_size_tokens", "") if alone else ""
    return {
        "engine": name,
        "usage_peak": max((s.kv_usage for s in alone if s.kv_usage is not None), default=None),
        "kv_tokens": int(told) if told.isdigit() else None,
        "preemptions": window.preemptions,
        "prompt_tokens": window.prompt_tokens,
        "output_tokens": window.generation_tokens,
        "hit_rate": window.hit_rate,
    }


def reuse(run: RunRecord) -> Mapping[str, Any]:
    """Keys that the study of a run adds to its prefix cache; None where there was no study."""
    return {key: run.reuse.get(key) for key in ("lost", "pools", "turns", "ceilings")}


def speculative(run: RunRecord, engine: EngineRecord | None) -> Mapping[str, Any]:
    """Tokens of the pool that the draft's own KV cache costs, and how much of the answers their prompts foretold.

    None without a draft or a study, or where it can't be worked out.
    """
    return {"draft_kv_tokens": draft_cost(engine), "copied": run.reuse.get("copied")}
