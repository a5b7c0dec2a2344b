"""What can be copied: the numbers of an area as they are shown, the engine's command line, addresses and files."""

import shlex
from collections.abc import Iterator

from tui.screens.choose import Choice
from tui.session.snapshot import RunView, Snapshot
from tui.traffic.outcome import REUSES
from tui.traffic.tick import Finished
from tui.widgets import figures
from tui.widgets.histogram import p95, quantile
from tui.widgets.lever_list import in_order
from tui.widgets.plain import plain
from tui.widgets.run_columns import COLUMNS

_UNKNOWN = (figures.UNKNOWN, "unknown", "")


def choices(snapshot: Snapshot, area: str, run: RunView | None) -> list[Choice]:
    """The numbers of `area` first, known ones only; `run` is the one under the cursor."""
    numbers = {
        "ttft": _ttft(snapshot),
        "kv": _kv(snapshot),
        "prefix": _prefix(snapshot),
        "acceptance": _acceptance(snapshot),
        "levers": _levers(snapshot),
        "runs": _run(run) if run is not None else (),
    }.get(area, ())
    found = [*numbers, *_busy(snapshot), *_places(snapshot)]
    return [Choice(plain(name, 40), value, value) for name, value in found if value not in _UNKNOWN]


def command_line(snapshot: Snapshot) -> str:
    """The engine's command line for a POSIX shell; empty where vtune did not start it."""
    engine = snapshot.engine
    if not engine.argv:
        return ""
    return " ".join((*(f"{name}={shlex.quote(value)}" for name, value in engine.env), shlex.join(engine.argv)))


Pairs = Iterator[tuple[str, str]]


def _ttft(snapshot: Snapshot) -> Pairs:
    run = snapshot.run or (snapshot.runs[-1] if snapshot.runs else None)
    for name, finished in (
        *((reuse, [one for one in run.finished if one.reuse == reuse] if run else []) for reuse in REUSES),
        ("all", list(run.finished) if run else []),
    ):
        yield from _quantiles(f"TTFT {name}", finished)


def _quantiles(name: str, finished: list[Finished]) -> Pairs:
    times = sorted(one.ttft_s for one in finished if one.ttft_s is not None)
    if times:
        yield f"{name} p50", figures.seconds(quantile(times, 0.5))
        yield f"{name} p95", figures.seconds(p95(times))
        yield f"{name} n", figures.count(len(times))


def _kv(snapshot: Snapshot) -> Pairs:
    seen = snapshot.metrics
    now = next((value for _, value in reversed(seen.kv_usage) if value is not None), None)
    yield "KV cache now", figures.percent(now)
    yield "KV cache peak", figures.percent(seen.kv_peak)
    size = snapshot.engine.kv_cache_tokens
    yield "KV cache size", "" if size is None else f"{figures.count(size)} tokens"
    yield "preempted", figures.count(seen.preemptions)


def _prefix(snapshot: Snapshot) -> Pairs:
    seen = snapshot.metrics
    yield "hit rate of the run", figures.percent(seen.prefix_run)
    yield "ceiling of the recording", figures.percent(seen.prefix_ceiling)
    now = next((value for _, value in reversed(seen.prefix_window) if value is not None), None)
    yield "hit rate of this window", figures.percent(now)


def _acceptance(snapshot: Snapshot) -> Pairs:
    seen = snapshot.metrics
    yield "acceptance rate", figures.percent(seen.acceptance_rate)
    for name, value in (
        ("mean acceptance length", seen.mean_acceptance_length),
        ("tokens per step", seen.tokens_per_step),
    ):
        yield name, "" if value is None else f"{value:.2f}"
    for position, share in enumerate(seen.per_position, 1):
        yield f"acceptance at {position}", figures.percent(share)


def _levers(snapshot: Snapshot) -> Pairs:
    asked = in_order(snapshot.levers)
    if asked:
        words = (f"--set {shlex.quote(f'{one.name}={one.pending or one.asked}')}" for one in asked if one.asked)
        yield "all levers", " ".join(words)
    for lever in asked:
        yield lever.title, f"{lever.name}={lever.pending or lever.asked}"


def _run(run: RunView) -> Pairs:
    for column in COLUMNS[1:]:  # without the number, which every name has
        yield f"run {run.number}: {column.label}", plain(column.cell(run)).strip()
    if run.verdict:
        yield f"run {run.number}: verdict", plain(run.verdict)


def _busy(snapshot: Snapshot) -> Pairs:
    seen = snapshot.metrics
    for name, points in (("output", seen.output_tokens_per_s), ("prompt", seen.prompt_tokens_per_s)):
        last = points[-1][1] if points else None
        yield f"{name} tokens/s", figures.rate(last)
    yield "engine memory", figures.size(snapshot.engine.memory_bytes)


def _places(snapshot: Snapshot) -> Pairs:
    engine = snapshot.engine
    yield "engine's command line", command_line(snapshot)
    yield "engine's address", engine.url or ""
    if snapshot.recorder is not None:
        yield "recorder's address", snapshot.recorder.url
        yield "recorder's file", snapshot.recorder.path
    yield "engine's log", str(engine.log_path or "")
    yield "session's folder", str(snapshot.folder or "")
