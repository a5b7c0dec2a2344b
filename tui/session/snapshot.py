"""A frozen picture of the session, made on a tick: all that the screen may draw.

None means unknown or not measured, and is drawn as such, never as zero. Seconds, tokens and bytes
throughout; wall-clock times are epoch seconds. Widgets read this and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tui.session.kv_picture import KvPicture

if TYPE_CHECKING:
    # Not loaded before the first paint, which shows an empty snapshot.
    from tui.metrics.buckets import Coarse
    from tui.traffic.tick import Finished, InFlight

EngineState = Literal[
    "none", "starting", "warming", "ready", "parked", "stopping", "stopped", "failed", "died", "attached", "unreachable"
]
Switch = Literal["on", "off", "unknown"]
Points = tuple[tuple[float, float | None], ...]  # (epoch seconds, value)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed start, a dead engine or a refused action, in two lines."""

    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class PhaseView:
    """One phase of an engine start: import, config, weights, compile, KV cache, graphs, ready, warm-up."""

    name: str
    seconds: float  # so far, while it is the current one
    done: bool


@dataclass(frozen=True, slots=True)
class EngineView:
    state: EngineState = "none"
    since: float = 0.0
    model: str | None = None
    vllm: str | None = None
    device: str | None = None
    url: str | None = None
    argv: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()  # what vtune adds for the engine; secrets masked
    start_kind: str | None = None  # plain, warm, parked, attached
    start_s: float | None = None
    phases: tuple[PhaseView, ...] = ()
    estimate_s: float | None = None  # whole start, from earlier starts of this profile here
    failure: Failure | None = None
    log_path: Path | None = None
    warnings: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()  # asked against applied, one sentence each
    memory_bytes: int | None = None  # PSS of the engine's process tree
    kv_cache_tokens: int | None = None
    block_size: int | None = None


@dataclass(frozen=True, slots=True)
class LeverView:
    name: str  # as on the command line: prefix-caching, chunked-prefill, ...
    title: str  # as on screen: "prefix caching"
    group: str  # reuse, scheduling, memory, speculation, kernel
    asked: str  # what the running engine was started with, in the words of --set
    pending: str | None = None  # a change not yet applied
    applied: str | None = None  # read back from the engine; None while unknown
    toggle: tuple[str, str] | None = None  # (off value, on value) where space toggles
    choices: tuple[str, ...] = ()  # closed list of values, else free text is edited
    hint: str = ""  # what may be typed: "off | 2048 | 512/256"
    gain: str = ""  # one line: what it improves
    cost: str = ""  # one line: what it costs
    note: str | None = None  # vLLM's own warning, a hazard, or what the value does to other levers
    default: str | None = None  # what vLLM would choose here
    extra: bool = False  # neither among the levers that matter most nor named: listed behind the others
    missing: str | None = None  # why this install does not have it; None where it has


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The replay that runs now."""

    number: int
    label: str
    recording: str
    pace: str
    state: Literal["preparing", "running", "paused", "draining", "ending"]
    started: float
    elapsed_s: float
    total: int
    sent: int = 0
    running: int = 0
    waiting: int = 0
    ok: int = 0
    failed: int = 0
    cancelled: int = 0
    eta_s: float | None = None
    finished: tuple[Finished, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    max_lag_s: float | None = None
    errors: tuple[tuple[str, int], ...] = ()  # kind, count
    idle_until: float | None = None  # epoch seconds; nothing is in flight, and the next request is due then


@dataclass(frozen=True, slots=True)
class MetricsView:
    """What the engine's /metrics show: over the running replay, else over the last one."""

    age_s: float | None = None  # of the newest scrape; None: never seen
    kv_usage: Points = ()  # 0..1, the fullest engine
    kv_peak: float | None = None
    kv_engines: tuple[tuple[str, float | None], ...] = ()  # usage now of each, where there are several
    kv: KvPicture = KvPicture()
    prefix_state: Switch = "unknown"
    prefix_window: Points = ()  # hit rate per window, 0..1; None where nothing was queried
    prefix_run: float | None = None
    prefix_ceiling: float | None = None
    speculative_state: Switch = "unknown"
    speculative_method: str | None = None
    acceptance_window: Points = ()
    acceptance_rate: float | None = None
    mean_acceptance_length: float | None = None
    per_position: tuple[float, ...] = ()
    tokens_per_step: float | None = None
    draft_kv_tokens: int | None = None  # of the pool, for the draft's own KV cache
    copied_share: float | None = None  # of the answers' words, what n-gram could have copied; of a run that is over
    step_window: Points = ()  # tokens per step and request, per window
    foreign_ttft: Coarse | None = None  # of traffic that is not ours: engine side, coarse
    running: int | None = None
    waiting: int | None = None
    preemptions: int | None = None  # in this run
    output_tokens_per_s: Points = ()
    prompt_tokens_per_s: Points = ()
    lever_marks: tuple[tuple[float, str], ...] = ()  # (epoch, what changed)


@dataclass(frozen=True, slots=True)
class RunView:
    """A row of the runs table; `result` is the whole vtune.run/1 object."""

    number: int
    label: str  # what changed against the run before: "baseline", "prefix-caching off"
    result: dict[str, Any]
    baseline: bool = False
    finished: tuple[Finished, ...] = ()  # for the overlay of the TTFT histogram
    ratios: dict[str, float | None] = field(default_factory=dict)  # metric -> this / baseline
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class RecorderView:
    """The recorder in front of the engine, while it is on."""

    state: Literal["on", "stopping"]
    url: str
    path: str
    since: float
    kept: int = 0  # calls written to the recording
    passed: int = 0  # requests of every kind that went through
    in_flight: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person: what happened, and the mend where there is one."""

    at: float
    level: Literal["info", "warning", "error"]
    what: str
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    now: float = 0.0
    session_id: str = ""
    folder: Path | None = None
    profile: str = ""
    recording: str | None = None
    engine: EngineView = EngineView()
    levers: tuple[LeverView, ...] = ()
    run: LiveRun | None = None
    metrics: MetricsView = MetricsView()
    runs: tuple[RunView, ...] = ()
    notices: tuple[Notice, ...] = ()
    recorder: RecorderView | None = None
    kept: bool = False  # of a session that is only read: nothing can be started, changed or ended in it
    next_step: str | None = None  # after the newest run: "LEVER=VALUE: why", or that nothing is worth trying

    @property
    def pending(self) -> tuple[LeverView, ...]:
        """Levers with a change that is not applied yet."""
        return tuple(lever for lever in self.levers if lever.pending is not None)

    @property
    def baseline(self) -> RunView | None:
        return next((run for run in self.runs if run.baseline), None)


EMPTY = Snapshot()
