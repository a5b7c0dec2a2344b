"""The Snapshot of a State: pure, so that a live and a reopened session show the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui.metrics.scrape import Scrape
from tui.metrics.window import ratio
from tui.session.compare import glance
from tui.session.kv_view import kv_picture
from tui.session.levers_view import lever_views
from tui.session.next_step import of_session
from tui.session.next_step.step import part
from tui.session.pool import draft_cost
from tui.session.result import paired_ratios
from tui.session.snapshot import (
    EngineView,
    Failure,
    LiveRun,
    MetricsView,
    Notice,
    PhaseView,
    RecorderView,
    RunView,
    Snapshot,
    Switch,
)
from tui.session.state import EngineRecord, RunRecord, State
from tui.session.trace import Step

ETA_FROM = 3  # requests that must have ended before a time left is told
KEPT_NOTICES = 50


def snapshot(state: State, folder: Path, now: float, seen_at: float | None) -> Snapshot:
    """`now` and `seen_at` (of the newest scrape) are epoch seconds."""
    running = state.runs.get(state.running) if state.running is not None else None
    shown = running or (state.runs[max(state.runs)] if state.runs else None)
    return Snapshot(
        now=now,
        session_id=str(state.header.get("session", "")),
        folder=folder,
        profile=str(state.profile.get("name", "")),
        recording=state.recording.get("name"),
        engine=_engine(state.engine, folder, now),
        levers=lever_views(state),
        run=_live(running, now) if running else None,
        metrics=_metrics(state, shown, now, seen_at),
        runs=_rows(state),
        notices=tuple(Notice(n["at"], n["level"], n["what"], n["mend"]) for n in state.notices[-KEPT_NOTICES:]),
        recorder=_recorder(state.recorder),
        next_step=_next_step(state),
    )


def _next_step(state: State) -> str | None:
    found = of_session(state)
    return None if found is None else found[1].sentence()


def _recorder(told: dict[str, Any]) -> RecorderView | None:
    if told.get("state") not in ("on", "stopping"):
        return None
    return RecorderView(
        told["state"], told["url"], told["path"], told["since"], told["kept"], told["passed"], told["in_flight"]
    )


def _engine(engine: EngineRecord | None, folder: Path, now: float) -> EngineView:
    if engine is None:
        return EngineView()
    phases = tuple(
        PhaseView(phase.name, round((phase.ended or now) - phase.started, 1), phase.ended is not None)
        for phase in engine.phases
    )
    return EngineView(
        state=engine.state,  # type: ignore[arg-type]
        since=engine.since,
        model=engine.model,
        vllm=engine.vllm,
        device=engine.device,
        url=engine.url,
        argv=engine.argv,
        env=tuple(engine.env.items()),
        start_kind=engine.start_kind,
        start_s=engine.start_s,
        phases=phases,
        estimate_s=engine.estimate_s,
        failure=Failure(*engine.failure) if engine.failure else None,
        # Only the name: a journal from elsewhere must not make us read other files.
        log_path=folder / Path(engine.log).name if engine.log else None,
        warnings=engine.warnings,
        mismatches=engine.mismatches,
        memory_bytes=engine.memory_bytes,
        kv_cache_tokens=engine.kv_cache_tokens,
        block_size=engine.block_size,
    )


def _live(run: RunRecord, now: float) -> LiveRun:
    tick = run.tick
    elapsed = 0.0 if run.state == "preparing" else max(0.0, now - run.started_at)
    errors: dict[str, int] = {}
    for request in run.finished:
        if request.error_kind:
            errors[request.error_kind] = errors.get(request.error_kind, 0) + 1
    return LiveRun(
        number=run.number,
        label=run.label,
        recording=str(run.recording.get("name", "")),
        pace=run.pace_text,
        state="paused" if tick and tick.paused and run.state == "running" else run.state,  # type: ignore[arg-type]
        started=run.started_at,
        elapsed_s=elapsed,
        total=run.total,
        sent=tick.sent if tick else 0,
        running=tick.running if tick else 0,
        waiting=tick.waiting if tick else 0,
        ok=tick.ok if tick else 0,
        failed=tick.failed if tick else 0,
        cancelled=tick.cancelled if tick else 0,
        eta_s=_eta(run, elapsed),
        finished=tuple(run.finished),
        in_flight=tick.in_flight if tick else (),
        max_lag_s=tick.max_lag_s if tick else None,
        errors=tuple(sorted(errors.items())),
        idle_until=_idle_until(run),
    )


def _idle_until(run: RunRecord) -> float | None:
    """Epoch seconds of the next request where the recording has a gap and nothing is in flight, by the last tick."""
    tick = run.tick
    if tick is None or tick.next_due_s is None or run.ticked_at is None or run.state != "running":
        return None
    return run.ticked_at + tick.next_due_s - tick.at_s


def _eta(run: RunRecord, elapsed: float) -> float | None:
    """Time left if the rest goes as what has ended so far."""
    done = len(run.finished)
    if done < ETA_FROM or run.state != "running":
        return None
    return elapsed / done * (run.total - done)


def _metrics(state: State, run: RunRecord | None, now: float, seen_at: float | None) -> MetricsView:
    engine = state.engine
    newest = engine.scrape if engine else None
    serving = engine is not None and engine.state in ("ready", "warming", "attached")
    base = MetricsView(
        age_s=None if seen_at is None else max(0.0, now - seen_at),
        kv_engines=_each(newest) if newest and serving else (),
        running=newest.running if newest and serving else None,
        waiting=newest.waiting if newest and serving else None,
        lever_marks=_marks(state, run),
        foreign_ttft=state.foreign.ttft(),
        kv=kv_picture(state, run),
        prefix_state=_switch(engine, "prefix-caching"),
        speculative_state=_switch(engine, "speculative"),
        speculative_method=_method(engine),
    )
    return base if run is None else _of_run(base, state.engines[run.engine], run)


def _marks(state: State, run: RunRecord | None) -> tuple[tuple[float, str], ...]:
    """Levers changed since the run before the one that is shown: before it, or after its end."""
    before = state.runs.get(run.number - 1) if run is not None else None
    since = before.started_at if before is not None else 0.0
    return tuple(mark for mark in state.marks if mark[0] > since)


def _of_run(base: MetricsView, engine: EngineRecord, run: RunRecord) -> MetricsView:
    trace, total, windows = run.trace, run.trace.total, run.trace.windows()
    prefix = _switch(engine, "prefix-caching")
    speculative = _switch(engine, "speculative")
    seen = replace(
        base,
        prefix_state=prefix,
        speculative_state=speculative,
        speculative_method=_method(engine),
        kv_usage=tuple((step.t, step.kv_usage) for step in windows),
        kv_peak=trace.kv_peak,
        prefix_ceiling=run.ceiling,
        preemptions=total.preemptions,
        output_tokens_per_s=_rates(windows, "output"),
        prompt_tokens_per_s=_rates(windows, "prompt"),
    )
    if run.state == "preparing":  # it warms up: what those prompts find in the cache is nothing of the run's
        return seen
    return replace(
        seen,
        prefix_window=tuple((s.t, ratio(s.hits, s.queries)) for s in windows) if prefix != "off" else (),
        prefix_run=total.hit_rate if prefix != "off" else None,
        acceptance_window=tuple((s.t, ratio(s.accepted, s.drafted)) for s in windows) if speculative != "off" else (),
        acceptance_rate=total.acceptance_rate,
        mean_acceptance_length=total.mean_acceptance_length,
        per_position=total.per_position,
        tokens_per_step=total.tokens_per_step,
        step_window=tuple((s.t, ratio(s.output, s.steps)) for s in windows) if speculative == "on" else (),
        draft_kv_tokens=draft_cost(engine),
        copied_share=part(run.result or {}, "speculative", "copied", "share"),
    )


def _each(scrape: Scrape) -> tuple[tuple[str, float | None], ...]:
    """KV usage by engine; nothing where there is one, whose usage is the whole."""
    engines = scrape.engines
    return tuple((one.engine, one.kv_usage) for one in engines) if len(engines) > 1 else ()


def _rates(windows: Sequence[Step], name: str) -> tuple[tuple[float, float | None], ...]:
    return tuple((step.t, ratio(getattr(step, name), step.seconds)) for step in windows)


def _switch(engine: EngineRecord | None, lever: str) -> Switch:
    """As applied by the engine; while that is not read back, unknown."""
    applied = engine.applied.get(lever) if engine else None
    return "unknown" if applied is None else "off" if applied == "off" else "on"


def _method(engine: EngineRecord | None) -> str | None:
    applied = engine.applied.get("speculative") if engine else None
    return applied if applied not in (None, "off") else None


@dataclass(frozen=True, slots=True)
class _Row:
    """A run's row, and what it was made of: it is made again only when that is something else."""

    made_of: tuple[object, ...]
    view: RunView
    compared: tuple[object, ...] | None


def _rows(state: State) -> tuple[RunView, ...]:
    made_of = (state.baseline, *(run.number for run in state.runs.values() if run.state == "done"))
    return tuple(_row(state, run, made_of) for run in state.runs.values() if run.result is not None)


def _row(state: State, run: RunRecord, made_of: tuple[object, ...]) -> RunView:
    kept: _Row | None = state.rows.get(run.number)
    if kept is not None and kept.made_of == made_of:
        return kept.view
    assert run.result is not None
    ratios: dict[str, float | None] = {}
    compared, verdict = None, None
    base = state.runs.get(state.baseline) if state.baseline is not None else None
    # Requests are paired by id, which says nothing across recordings.
    alike = base is not None and base.recording.get("sha256") == run.recording.get("sha256")
    if base is not None and alike and base is not run and base.result is not None:
        compared = glance.compared(state, run, base)
        if kept is not None and kept.compared == compared:
            ratios, verdict = kept.view.ratios, kept.view.verdict
        else:
            ratios = paired_ratios(run.finished, run.result, base.finished, base.result)
            verdict = glance.sentence(state, run, base)
    view = RunView(
        number=run.number,
        label=run.label,
        result=run.result,
        baseline=run.number == state.baseline,
        finished=tuple(run.finished),
        ratios=ratios,
        verdict=verdict,
    )
    state.rows[run.number] = _Row(made_of, view, compared)
    return view
