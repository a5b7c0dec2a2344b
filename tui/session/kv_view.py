"""The KV panel's figures: from the result of a run that is over, else as far as the engine has told."""

from collections.abc import Mapping
from typing import Any

from tui.session.kv_picture import EnginePart, KvPicture, LostPrefix
from tui.session.pool import engine_before, pool_of, predicted
from tui.session.result.kv_cache import residency
from tui.session.state import EngineRecord, RunRecord, State


def kv_picture(state: State, run: RunRecord | None) -> KvPicture:
    """The pool of the engine that serves, and what became of it in `run`, which may have been on an earlier engine."""
    engine = state.engine
    pool = pool_of(engine)
    if engine is None or pool is None:
        return KvPicture()
    here = run is not None and run.engine == engine.number
    before = engine_before(state, engine.number)
    expected = predicted(engine, before) if before is not None else None
    kv, prefix = _kept(run, "kv_cache"), _kept(run, "prefix_cache")
    lived = kv.get("residency") or _living(run) or {}
    lost = prefix.get("lost") or {}
    longest = kv.get("longest") or {}
    return KvPicture(
        tokens=pool.tokens,
        block_size=pool.block_size,
        blocks=pool.blocks,
        used_now=_used(None if engine.scrape is None else engine.scrape.kv_usage, pool.usable),
        used_peak=_used(run.trace.kv_peak if run and here else None, pool.usable),
        partial_share=(kv.get("partial_blocks") or {}).get("share"),
        at_once=longest.get("in_flight") if here else None,
        longest_fit=longest.get("tokens") if here else None,
        longest_seen=longest.get("seen"),
        would_hold=tuple((f"{row['lever']}={row['value']}", row["tokens"]) for row in pool.alternatives()),
        predicted=None if expected is None else (expected, pool.tokens),
        recycled_blocks=lived.get("blocks"),
        lifetime_s=lived.get("lifetime_s"),
        idle_s=lived.get("idle_s"),
        reuse_gap_s=lived.get("reuse_gap_s"),
        prompt_tokens=lost.get("prompt_tokens"),
        evicted_tokens=lost.get("evicted_tokens"),
        evicted_soon_tokens=lost.get("evicted_soon_tokens"),
        lost=tuple(_lost(row) for row in lost.get("prefixes") or ()),
        turns=tuple(
            (row["turn"], row["prompt_tokens"], row["cached_tokens"], row["from_turn_before"])
            for row in prefix.get("turns") or ()
        ),
        engines=_engines(kv) or (_parts(engine, run) if here else ()),
    )


def _engines(kv: Mapping[str, Any]) -> tuple[EnginePart, ...]:
    rows = kv.get("engines") or ()
    return tuple(EnginePart(row["engine"], row["usage_peak"], row["output_tokens"]) for row in rows)


def _kept(run: RunRecord | None, part: str) -> Mapping[str, Any]:
    """A part of the run's result; an older vtune wrote it without some of its keys."""
    return (run.result or {}).get(part) or {} if run is not None else {}


def _living(run: RunRecord | None) -> Mapping[str, Any] | None:
    return residency(run.trace.total) if run is not None else None


def _used(usage: float | None, usable: int) -> int | None:
    return None if usage is None else round(usage * usable)


def _lost(row: Mapping[str, Any]) -> LostPrefix:
    asked = row["asked_by"]
    return LostPrefix(row["quote"], len(asked), asked[0], row["last_used_by"], row["lost_tokens"], row["idle_s"])


def _parts(engine: EngineRecord, run: RunRecord | None) -> tuple[EnginePart, ...]:
    """While a replay runs: the peaks so far."""
    if engine.engines < 2 or run is None:
        return ()
    peaks = sorted(run.trace.peaks.items(), key=lambda item: -item[1])
    return tuple(EnginePart(name, peak, None) for name, peak in peaks)
