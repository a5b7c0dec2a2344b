"""The session as a pure fold over its journal: the same events give the same state.

Live and reopened sessions go through `State.apply`; nothing else changes a State.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui.metrics.scrape import Scrape
from tui.session import bounds, journal
from tui.session.change import describe_change
from tui.session.foreign import Foreign
from tui.session.journal import Event
from tui.session.trace import Trace
from tui.traffic.tick import Finished, Tick


@dataclass(slots=True)
class PhaseRecord:
    name: str
    started: float
    ended: float | None = None


@dataclass(slots=True)
class EngineRecord:
    """One launch (or attachment), from its command line to its end."""

    number: int
    state: str
    since: float
    launched: float
    argv: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    python: str | None = None
    url: str | None = None
    log: str | None = None  # file name inside the session folder
    asked: dict[str, str] = field(default_factory=dict)
    install: dict[str, Any] = field(default_factory=dict)  # `engine.availability.as_json` of where it was started
    start_kind: str | None = None
    start_s: float | None = None
    estimate_s: float | None = None
    pid: int | None = None
    phases: list[PhaseRecord] = field(default_factory=list)
    applied: dict[str, str | None] = field(default_factory=dict)
    mismatches: tuple[str, ...] = ()
    vllm: str | None = None
    model: str | None = None
    device: str | None = None
    block_size: int | None = None
    kv_cache_tokens: int | None = None  # of all its engines together
    engines: int = 1  # data-parallel ones behind the URL
    kv_bytes: dict[str, dict[str, int]] = field(default_factory=dict)  # a token's, see engine/kv_size.of_launch
    max_model_len: int | None = None
    warnings: tuple[str, ...] = ()
    failure: tuple[str, str] | None = None  # what, mend
    memory_bytes: int | None = None
    gpu_bytes: int | None = None
    scrape: Scrape | None = None  # the newest


@dataclass(slots=True)
class RunRecord:
    """One replay on one engine."""

    number: int
    engine: int
    label: str
    started_at: float
    state: str
    total: int
    recording: dict[str, Any]
    pace: dict[str, Any]
    pace_text: str
    cache_reset: str | None = None
    start_state: str | None = None  # what the warm-up found, in words
    ceiling: float | None = None
    file: str | None = None  # run-N.jsonl inside the session folder
    tick: Tick | None = None
    ticked_at: float | None = None
    finished: list[Finished] = field(default_factory=list)
    scrapes: list[Scrape] = field(default_factory=list, compare=False)  # until it has its result
    trace: Trace = field(default_factory=Trace)
    memory: list[tuple[float, int]] = field(default_factory=list, compare=False)
    gpu_memory: list[tuple[float, int]] = field(default_factory=list, compare=False)
    meta: dict[str, Any] = field(default_factory=dict)  # the whole run event
    reuse: dict[str, Any] = field(default_factory=dict)  # what became of its prompts' blocks, see session/reuse
    load: list[tuple[float, float, float, int]] = field(default_factory=list)  # epoch s; cores of others, stolen, all
    conditions: list[str] = field(default_factory=list)  # what may have slowed its GPU down
    end: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


@dataclass(slots=True)
class State:
    header: Event = field(default_factory=dict)
    profile: dict[str, Any] = field(default_factory=dict)
    recording: dict[str, Any] = field(default_factory=dict)
    recorder: dict[str, Any] = field(default_factory=dict)  # of the newest start: url, path, counts, state
    engines: dict[int, EngineRecord] = field(default_factory=dict)
    serving: int | None = None  # number of the engine that serves, or is to
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)  # lever -> value that did not start, and why
    runs: dict[int, RunRecord] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    baseline: int | None = None
    comparison: dict[str, Any] | None = None  # what is compared: arms, order, seed; run n is the nth of the order
    checks: list[dict[str, Any]] = field(default_factory=list)  # what its engines were asked about the answers
    lab: dict[str, Any] | None = None  # which experiment the comparison is: study, scale, control
    notices: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    running: int | None = None  # number of the replay that runs now
    foreign: Foreign = field(default_factory=Foreign)  # traffic that is not ours, on an attached engine
    closed: bool = False
    # Worked out of the above when it was drawn, no part of the fold: the rows of runs that ended, see views.
    rows: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def engine(self) -> EngineRecord | None:
        """The engine that serves or is to, whatever became of it; not one that is parked or started ahead."""
        return self.engines.get(self.serving) if self.serving is not None else None

    @property
    def asked(self) -> dict[str, str]:
        """Lever values of the serving engine, else those of the profile."""
        return self.engine.asked if self.engine else dict(self.profile.get("levers", {}))

    def apply(self, event: Event) -> None:
        """Fold one event; an unknown kind (of a newer version) is skipped."""
        handler = _HANDLERS.get(event.get("e", ""))
        if handler is not None:
            handler(self, event)


def _profile(state: State, event: Event) -> None:
    state.profile = {k: v for k, v in event.items() if k not in ("e", "t")}


def _recording(state: State, event: Event) -> None:
    state.recording = {k: v for k, v in event.items() if k not in ("e", "t")}


def _recorder(state: State, event: Event) -> None:
    before = {"since": event["t"]} if event.get("state") == "on" else state.recorder
    state.recorder = {**before, **{k: v for k, v in event.items() if k not in ("e", "t")}}


def _launch(state: State, event: Event) -> None:
    number, now = event["n"], event["t"]
    state.engines[number] = EngineRecord(
        number=number,
        state=event.get("state", "starting"),
        since=now,
        launched=now,
        argv=tuple(event.get("argv", ())),
        env=event.get("env", {}),
        python=event.get("python"),
        url=event.get("url"),
        log=event.get("log"),
        asked=event.get("asked", {}),
        install=event.get("install", {}),
        start_kind=event.get("start_kind"),
        estimate_s=event.get("estimate_s"),
        model=event.get("model"),
    )
    if not event.get("ahead"):
        _take_over(state, number, now)


def _take_over(state: State, number: int, now: float) -> None:
    """Engine `number` serves from now on: what was pending and is asked of it is pending no more."""
    before = state.asked if state.serving is not None else None
    state.serving = number
    asked = state.asked
    for name in [name for name, value in state.pending.items() if asked.get(name) == value]:
        del state.pending[name]
    if before is not None and (words := describe_change(before, asked)):
        state.marks.append((now, words))


def _use(state: State, event: Event) -> None:
    """An engine that was parked, or started ahead, serves."""
    engine = state.engines[event["n"]]
    if state.serving != event["n"]:
        _take_over(state, event["n"], event["t"])
    for key in ("start_kind", "start_s"):
        if event.get(key) is not None:
            setattr(engine, key, event[key])


def _refused(state: State, event: Event) -> None:
    for name, value in event["levers"].items():
        state.refused[name] = (value, event["what"])
        if state.pending.get(name) == value:
            del state.pending[name]


def _phase(state: State, event: Event) -> None:
    engine = state.engines[event["n"]]
    if engine.phases and engine.phases[-1].ended is None:
        engine.phases[-1].ended = event["t"]
    if event.get("name"):
        engine.phases.append(PhaseRecord(event["name"], event["t"]))


def _engine_state(state: State, event: Event) -> None:
    engine = state.engines[event["n"]]
    engine.state, engine.since = event["state"], event["t"]
    for key in ("pid", "start_s", "start_kind", "vllm", "device"):
        if event.get(key) is not None:
            setattr(engine, key, event[key])
    if engine.phases and engine.phases[-1].ended is None and engine.state != "warming":
        engine.phases[-1].ended = event["t"]
    if event.get("what"):
        engine.failure = (event["what"], event.get("mend", ""))


def _applied(state: State, event: Event) -> None:
    engine = state.engines[event["n"]]
    engine.applied = event.get("levers", {})
    engine.mismatches = tuple(event.get("mismatches", ()))
    engine.warnings = tuple(dict.fromkeys((*engine.warnings, *event.get("warnings", ()))))
    for key in ("vllm", "model", "device", "block_size", "kv_cache_tokens", "max_model_len", "engines",
                "kv_bytes"):  # fmt: skip
        if event.get(key) is not None:
            setattr(engine, key, event[key])


def _warning(state: State, event: Event) -> None:
    engine = state.engines[event["n"]]
    if event["text"] not in engine.warnings:
        engine.warnings = (*engine.warnings, event["text"])


def _run(state: State, event: Event) -> None:
    number = event["n"]
    state.runs[number] = RunRecord(
        number=number,
        engine=event["engine"],
        label=event.get("label", ""),
        started_at=event["t"],
        state="preparing",
        total=event.get("total", 0),
        recording=event.get("recording", {}),
        pace=event.get("pace", {}),
        pace_text=event.get("pace_text", ""),
        file=event.get("file"),
        meta=event,
    )
    state.running = number


def _run_state(state: State, event: Event) -> None:
    run = state.runs[event["n"]]
    run.state = event["state"]
    if run.state == "running":
        run.started_at = event["t"]
        run.trace = Trace()
        for scrape in run.scrapes:
            run.trace.add(scrape)
        run.meta = {**run.meta, **{k: v for k, v in event.items() if k not in ("e", "state")}}
        run.cache_reset = event.get("cache_reset")
        run.start_state = event.get("start_state")
        run.ceiling = event.get("ceiling")


def _tick(state: State, event: Event) -> None:
    run = state.runs[event["n"]]
    tick = Tick.from_json(event["tick"])
    run.tick, run.ticked_at = tick, event["t"]
    run.finished.extend(tick.finished)


def _scrape(state: State, event: Event) -> None:
    engine = state.engines[event["n"]]
    if engine.scrape is None and not event.get("full"):
        return  # changes against a scrape that this journal does not have
    scrape = Scrape.from_json(event["d"]) if event.get("full") else engine.scrape.apply(event["d"])
    engine.scrape = scrape
    state.foreign.see(scrape, state.running is not None)
    if state.running is not None and state.runs[state.running].engine == event["n"]:
        run = state.runs[state.running]
        if run.state == "preparing":
            run.scrapes.clear()  # of the warm-up, only its last scrape: the run is counted from there
        bounds.keep(run.scrapes, scrape)
        run.trace.add(scrape)


def _reuse(state: State, event: Event) -> None:
    state.runs[event["n"]].reuse = event["d"]


def _memory(state: State, event: Event) -> None:
    engine = state.engines[event["n"]]
    engine.memory_bytes, engine.gpu_bytes = event["bytes"], event.get("gpu")
    if state.running is None or state.runs[state.running].engine != event["n"]:
        return
    run = state.runs[state.running]
    if engine.memory_bytes is not None:
        run.memory.append((event["t"], engine.memory_bytes))
    if engine.gpu_bytes is not None:
        run.gpu_memory.append((event["t"], engine.gpu_bytes))


def _machine(state: State, event: Event) -> None:
    """Who else used the machine while a run was going on."""
    if state.running is None or state.runs[state.running].state == "preparing":
        return
    run = state.runs[state.running]
    if event.get("others") is not None:
        run.load.append((event["t"], event["others"], event["steal"], event["cores"]))
    run.conditions.extend(words for words in event.get("conditions", ()) if words not in run.conditions)


def _run_end(state: State, event: Event) -> None:
    run = state.runs[event["n"]]
    run.state, run.end, run.result = event.get("state", "done"), event.get("end"), event.get("result")
    state.running = None
    if state.baseline is None and run.result is not None and run.state == "done":
        state.baseline = run.number


def _lever(state: State, event: Event) -> None:
    state.refused.pop(event["name"], None)
    if state.asked.get(event["name"]) == event["value"]:
        state.pending.pop(event["name"], None)
    else:
        state.pending[event["name"]] = event["value"]


def _undo(state: State, event: Event) -> None:
    state.pending.clear()


def _baseline(state: State, event: Event) -> None:
    state.baseline = event["n"]


def _comparison(state: State, event: Event) -> None:
    state.comparison = {k: v for k, v in event.items() if k not in ("e", "t")}


def _check(state: State, event: Event) -> None:
    state.checks.append({k: v for k, v in event.items() if k not in ("e", "t")})


def _lab(state: State, event: Event) -> None:
    state.lab = {k: v for k, v in event.items() if k not in ("e", "t")}


def _notice(state: State, event: Event) -> None:
    state.notices.append({"at": event["t"], "level": event["level"], "what": event["what"], "mend": event.get("mend")})
    del state.notices[:-200]


def _close(state: State, event: Event) -> None:
    state.closed = True


_HANDLERS = {
    "profile": _profile,
    "recording": _recording,
    "recorder": _recorder,
    "launch": _launch,
    "use": _use,
    "refused": _refused,
    "phase": _phase,
    "engine": _engine_state,
    "applied": _applied,
    "warning": _warning,
    "run": _run,
    "run-state": _run_state,
    "tick": _tick,
    "scrape": _scrape,
    "memory": _memory,
    "machine": _machine,
    "reuse": _reuse,
    "run-end": _run_end,
    "lever": _lever,
    "undo": _undo,
    "baseline": _baseline,
    "comparison": _comparison,
    "lab": _lab,
    "check": _check,
    "notice": _notice,
    "close": _close,
}


def fold(header: Event, events: Iterable[Event]) -> State:
    state = State(header=header)
    for event in events:
        state.apply(event)
    return state


def load(folder: Path) -> State:
    """The state that the journal in `folder` tells. Raises VtuneError when it is no session."""
    return fold(*journal.read(folder))
