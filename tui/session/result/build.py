"""`vtune.run/1`: every key is there, None where unknown."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tui.engine.settings import Target
from tui.errors import VtuneError
from tui.session import secrets
from tui.session.pool import engine_before
from tui.session.result import counters, kv_cache, latency, load
from tui.session.result.caveats import caveats
from tui.session.result.queueing import queueing
from tui.session.result.targets import goodput, judge
from tui.session.state import EngineRecord, RunRecord, State
from tui.session.stats import dist
from tui.traffic.outcome import Outcome
from tui.traffic.schedule import parse_pace

SCHEMA = "vtune.run/1"


def result_of(
    state: State, number: int, outcomes: Iterable[Outcome], end: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The result of run `number` of a session, from its journal and the lines of its ``run-N.jsonl``."""
    run = state.runs[number]
    engine = state.engines.get(run.engine)
    before = engine_before(state, run.engine)
    return build_result(run, engine, outcomes, end, state.profile.get("targets") or (), state.header, before)


def build_result(
    run: RunRecord,
    engine: EngineRecord | None,
    outcomes: Iterable[Outcome],
    end: Mapping[str, Any] | None = None,
    targets: Iterable[Target | Mapping[str, Any]] = (),
    header: Mapping[str, Any] | None = None,
    before: EngineRecord | None = None,
) -> dict[str, Any]:
    """The `vtune.run/1` object of a run, finished or not.

    `end` is the last line of ``run-N.jsonl`` (None when the replay was cut short), `targets` those of
    the profile, `header` the journal's, `before` the engine that was started before. Without scrapes of the run the
    engine's counters are unknown.
    """
    # The file has the order of ending; by due time the result does not depend on it.
    outcomes = sorted(outcomes, key=lambda o: (o.due_s, o.id))
    targets = tuple(targets)
    end = end or {}
    seen = counters.of_run(run.scrapes, run.started_at)
    duration = load.duration_s(outcomes, end)
    block = _engine(engine)
    in_flight = load.in_flight(outcomes, duration)
    result = {
        **_identity(run, header or {}),
        "duration_s": duration,
        "recording": _recording(run, outcomes),
        "engine": block,
        "pace": _pace(run),
        "in_flight": in_flight,
        "cache_reset": run.cache_reset,
        "requests": latency.requests(outcomes),
        **latency.latencies(outcomes),
        "server": latency.server(outcomes),
        "queueing": queueing(outcomes),
        "groups": latency.groups(outcomes),
        "throughput": load.throughput(outcomes, duration),
        "goodput": goodput(targets, outcomes, duration),
        "prefix_cache": {**counters.prefix_cache(seen, block, outcomes, run.ceiling), **kv_cache.reuse(run)},
        "speculative": {**counters.speculative(seen, block), **kv_cache.speculative(run, engine)},
        "kv_cache": kv_cache.kv_cache(
            seen, run, engine, before, outcomes, load.last_end_s(outcomes), in_flight["peak"]
        ),
        "steps": counters.steps(seen),
        "memory": _memory(run),
        "fidelity": _fidelity(outcomes, end.get("fidelity") or {}),
    }
    result["targets"] = judge(targets, result)
    result["caveats"] = caveats(result, outcomes, seen, run, end.get("kind"))
    return result


def _identity(run: RunRecord, header: Mapping[str, Any]) -> dict[str, Any]:
    session = str(header.get("session", ""))
    return {
        "schema": SCHEMA,
        "id": f"{session}/run-{run.number}",
        "label": run.label,
        "session": session,
        "started_at": datetime.fromtimestamp(run.started_at, UTC).isoformat(timespec="milliseconds"),
    }


def _recording(run: RunRecord, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    recording = run.recording
    return {
        "name": recording.get("name"),
        "sha256": recording.get("sha256"),
        "requests": recording.get("requests"),
        "prompt_tokens": dist(o.prompt_tokens for o in outcomes),
        "synthetic": recording.get("synthetic"),
    }


def _pace(run: RunRecord) -> dict[str, Any]:
    speed = run.meta.get("options", {}).get("speed", 1.0)
    try:
        pace = parse_pace(run.pace_text, speed)
    except VtuneError:  # an unfinished journal, or words of a newer version
        return {"mode": None, "speed": speed, "concurrency": None, "rate": None}
    return {"mode": pace.mode, "speed": pace.speed, "concurrency": pace.concurrency, "rate": pace.rate}


def _engine(engine: EngineRecord | None) -> dict[str, Any]:
    if engine is None:
        engine = EngineRecord(number=0, state="none", since=0.0, launched=0.0)
    return {
        "vllm": engine.vllm,
        "model": engine.model,
        "device": engine.device,
        "argv": secrets.argv(engine.argv),
        "start_kind": engine.start_kind,
        "start_s": engine.start_s,
        "asked": dict(engine.asked),
        "applied": dict(engine.applied),
        "mismatches": list(engine.mismatches),
        "block_size": engine.block_size,
        "kv_cache_tokens": engine.kv_cache_tokens,
        "warnings": list(engine.warnings),
    }


def _memory(run: RunRecord) -> dict[str, Any]:
    return {
        "engine_pss_peak_bytes": max((used for _, used in run.memory), default=None),
        "gpu_used_bytes": max((used for _, used in run.gpu_memory), default=None),
    }


def _fidelity(outcomes: Sequence[Outcome], told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "send_lag_s": dist(o.sent_s - o.due_s for o in outcomes if o.sent_s is not None),
        "connect_s": dist(o.connect_s for o in outcomes),
        "clock": told.get("clock"),
        "clock_steps": told.get("clock_steps"),
        "coalesced_events": sum(o.coalesced for o in outcomes) if outcomes else None,
        "late_reads": told.get("late_reads"),
        "scan_mismatches": told.get("scan_mismatches"),
        "busy_retries": told.get("busy_retries"),
        "paused_s": told.get("paused_s"),
        "replayer_cpu_share": told.get("replayer_cpu_share"),
        "ticks_dropped": told.get("ticks_dropped"),
    }
