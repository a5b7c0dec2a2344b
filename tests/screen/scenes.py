"""Made-up but realistic snapshots of a session, each a moment that the screen has to show well."""

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui.session.snapshot import (
    EngineView,
    Failure,
    LeverView,
    LiveRun,
    MetricsView,
    Notice,
    PhaseView,
    RunView,
    Snapshot,
)
from tui.traffic.outcome import Reuse
from tui.traffic.tick import Finished, InFlight

NOW = 1_800_000_000.0
LEVERS = (
    LeverView("prefix-caching", "prefix caching", "reuse", "on", applied="on", toggle=("off", "on"), hint="on | off",
              gain="a prompt that starts like an earlier one skips that part of its prefill: lower TTFT",
              cost="hashing of every block; only whole blocks from the start of the prompt count"),
    LeverView("speculative", "speculation", "speculation", "off", applied="off", toggle=("off", "ngram:4:2-4"),
              hint="off | ngram:TOKENS:MIN-MAX | draft-model:PATH:TOKENS",
              gain="several tokens per step where they can be guessed: lower TPOT",
              cost="steps spent on rejected guesses; less gain at high load"),
    LeverView("chunked-prefill", "chunked prefill", "scheduling", "2048", applied="2048", toggle=("off", "on"),
              hint="off | 2048 | 512/256 (token budget / long-prefill threshold)",
              gain="short requests are not stuck behind a long prefill: lower tail TTFT, steadier TPOT",
              cost="small budgets make prefill slower"),
    LeverView("max-num-seqs", "max sequences", "scheduling", "128", applied="128",
              hint="a number, such as 64", gain="more requests decode together: more tokens per second",
              cost="each waits longer for its next token"),
    LeverView("kv-dtype", "KV dtype", "memory", "auto", applied="bfloat16", toggle=("auto", "fp8"),
              choices=("auto", "fp8"), hint="auto | fp8", gain="fp8 holds twice the tokens in the same memory",
              cost="accuracy, and on some devices slower attention"),
)  # fmt: skip


def engine(**changes: Any) -> EngineView:
    return replace(
        EngineView(
            state="ready", since=NOW - 754, model="SmolLM2-135M-Instruct", vllm="0.32.0", device="CPU, 1 core",
            url="http://127.0.0.1:41877", start_kind="plain", start_s=29.4, memory_bytes=2_480_000_000,
            kv_cache_tokens=46_592, block_size=128,
        ),
        **changes,
    )  # fmt: skip


def ready(**changes: Any) -> Snapshot:
    values = {"now": NOW, "session_id": "2027-01-15-0800", "profile": "demo", "recording": "rag-handbook",
              "engine": engine(), "levers": LEVERS}  # fmt: skip
    return Snapshot(**{**values, **changes})


def starting(log: Path | None = None, elapsed: float = 17.0) -> Snapshot:
    whole = (("import", 9.8), ("config", 0.6), ("weights", 1.1), ("KV cache", 2.9), ("ready", 8.0), ("warm-up", 3.0))
    phases, spent = [], 0.0
    for name, seconds in whole:
        if spent >= elapsed:
            break
        phases.append(PhaseView(name, min(seconds, elapsed - spent), elapsed - spent >= seconds))
        spent += seconds
    view = engine(
        state="starting", since=NOW - elapsed, phases=tuple(phases), estimate_s=29.4, log_path=log, memory_bytes=None
    )
    return ready(engine=view, levers=tuple(replace(lever, applied=None) for lever in LEVERS))


def finished(n: int, cached: bool = True, seed: int = 7) -> tuple[Finished, ...]:
    """`n` requests that ended; without caching all are cold."""
    dice = random.Random(seed)
    rows = []
    for number in range(n):
        draw = number % 8
        reuse: Reuse = "cold" if not cached or draw in (0, 5) else "partial" if draw == 3 else "warm"
        middle = {"cold": 2.5, "partial": 1.1, "warm": 0.21}[reuse]
        rows.append(
            Finished(
                id=f"r{number:02}", group=None, status="ok", reuse=reuse, at_s=3.1 * number,
                ttft_s=middle * math.exp(dice.gauss(0, 0.22)), tpot_s=0.034 * math.exp(dice.gauss(0, 0.08)),
                e2e_s=3.4, prompt_tokens=1_200, cached_tokens=900, output_tokens=28, due_s=max(0.0, 3.1 * number - 3.4),
                sent_s=max(0.0, 3.1 * number - 3.4) + 0.05,
            )
        )  # fmt: skip
    return tuple(rows)


def live(done: int = 18, total: int = 32, elapsed: float = 58.0) -> LiveRun:
    flying = (
        InFlight("r18", None, elapsed - 6.3, elapsed - 6.1, elapsed - 2.2),
        InFlight("r19", None, elapsed - 4.8, elapsed - 3.9, None),
        InFlight("r20", None, elapsed - 1.9, elapsed - 1.8, elapsed - 1.5),
        InFlight("r21", None, elapsed - 1.1, None, None),
        InFlight("r22", None, elapsed - 0.6, None, None),
    )
    return LiveRun(
        number=2, label="prefix-caching on", recording="rag-handbook", pace="recorded", state="running",
        started=NOW - elapsed, elapsed_s=elapsed, total=total, sent=done + 3, running=3, waiting=2, ok=done,
        eta_s=elapsed / max(1, done) * (total - done), finished=finished(done), in_flight=flying, max_lag_s=0.002,
    )  # fmt: skip


def metrics(seconds: int = 58, speculation: bool = False, caching: bool = True) -> MetricsView:
    dice = random.Random(3)
    clock = [NOW - seconds + t for t in range(seconds + 1)]
    usage = tuple((at, 0.06 + 0.3 * (1 - math.exp(-t / 25)) + 0.05 * math.sin(t / 4)) for t, at in enumerate(clock))
    window = tuple(
        (at, None if t < 4 else min(0.93, 0.78 * (1 - math.exp(-t / 14)) + dice.gauss(0, 0.05)))
        for t, at in enumerate(clock)
    )
    speed = tuple((at, 22 + 3 * math.sin(t / 3)) for t, at in enumerate(clock))
    accept = tuple((at, 0.58 + 0.12 * math.sin(t / 6)) for t, at in enumerate(clock)) if speculation else ()
    return MetricsView(
        age_s=0.4, kv_usage=usage, kv_peak=max(value for _, value in usage),
        prefix_state="on" if caching else "off", prefix_window=window if caching else (),
        prefix_run=0.71 if caching else None, prefix_ceiling=0.74, speculative_state="on" if speculation else "off",
        speculative_method="ngram:4:2-4" if speculation else None, acceptance_window=accept,
        acceptance_rate=0.583 if speculation else None, mean_acceptance_length=3.33 if speculation else None,
        per_position=(0.81, 0.64, 0.49, 0.39) if speculation else (), tokens_per_step=3.1 if speculation else None,
        step_window=tuple((at, 3.1 + 0.5 * math.sin(t / 6)) for t, at in enumerate(clock)) if speculation else (),
        running=3, waiting=2, preemptions=0, output_tokens_per_s=speed,
        prompt_tokens_per_s=tuple((at, value * 31) for at, value in speed),
    )  # fmt: skip


def dist(p50: float | None, p95: float | None, n: int) -> dict[str, Any]:
    return {"n": n, "mean": p50, "p50": p50, "p90": p95, "p95": p95, "p99": None, "min": p50, "max": p95}


def result(warm: bool, speculation: bool = False) -> dict[str, Any]:
    """The parts of a vtune.run/1 that the screen reads."""
    return {
        "schema": "vtune.run/1",
        "requests": {"sent": 32, "ok": 32, "failed": 0, "cancelled": 0, "errors": []},
        "ttft_s": {
            "all": dist(0.29 if warm else 2.58, 3.4, 32),
            "cold": dist(2.61, None, 8) if warm else dist(2.58, 3.90, 32),
            "partial": dist(1.12, None, 4) if warm else dist(None, None, 0),
            "warm": dist(0.21, 0.34, 20) if warm else dist(None, None, 0),
        },
        "tpot_s": dist(0.0125 if speculation else 0.034, 0.041, 32),
        "throughput": {"output_tokens_per_s": 24.1 if warm else 11.0},
        "prefix_cache": {"state": "on" if warm else "off", "hit_rate": 0.712 if warm else None, "ceiling": 0.74},
        "speculative": {"state": "on" if speculation else "off", "acceptance_rate": 0.583 if speculation else None},
        "targets": [
            {"name": "ttft-p95", "limit": 2.0, "value": 3.4, "met": False},
            {"name": "tpot-p95", "limit": 0.1, "value": 0.041, "met": True},
        ],
        "kv_cache": {"usage_peak": 0.41 if warm else 0.38, "preemptions": 0},
    }


RATIOS = {"ttft_s.cold.p50": 1.01, "ttft_s.warm.p50": 0.081, "tpot_s.p50": 1.0, "throughput.output_tokens_per_s": 2.19}


def runs(number: int = 2) -> tuple[RunView, ...]:
    every = (
        RunView(1, "baseline, prefix-caching off", result(False), baseline=True, finished=finished(32, cached=False)),
        RunView(2, "prefix-caching on", result(True), finished=finished(32), ratios=RATIOS,
                verdict="warm requests 12.3x faster, cold unchanged; hits reach 96 % of what this recording allows"),
        RunView(3, "speculative ngram:4:2-4", result(True, True), finished=finished(32, seed=9),
                ratios={**RATIOS, "tpot_s.p50": 0.37}),
    )  # fmt: skip
    return every[:number]


def replaying(**changes: Any) -> Snapshot:
    return ready(**{"run": live(), "metrics": metrics(), "runs": runs(1), **changes})


def compared(**changes: Any) -> Snapshot:
    return ready(**{"metrics": metrics(speculation=True), "runs": runs(3), **changes})


def pending(*names: str, **changes: Any) -> Snapshot:
    wanted = {"prefix-caching": "off", "speculative": "ngram:4:2-4", "max-num-seqs": "64"}
    levers = tuple(replace(lever, pending=wanted[lever.name]) if lever.name in names else lever for lever in LEVERS)
    return ready(**{"levers": levers, "metrics": metrics(), "runs": runs(2), **changes})


def mismatched() -> Snapshot:
    levers = (replace(LEVERS[0], applied="off", note="the model has no prefix caching in this version"), *LEVERS[1:])
    sentence = "prefix-caching: asked on, the engine runs off"
    return ready(levers=levers, engine=engine(mismatches=(sentence,)), runs=runs(2), metrics=metrics())


def failed(log: Path | None = None) -> Snapshot:
    failure = Failure(
        "block size 16 is not a multiple of 32, which the CPU backend needs", "set block-size=32, or auto"
    )
    notice = Notice(
        NOW - 3, "error", "the engine did not start; the levers are back to what ran before", "u drops the change"
    )
    return ready(
        engine=engine(state="failed", since=NOW - 4, failure=failure, log_path=log, memory_bytes=None),
        runs=runs(2),
        notices=(notice,),
    )


def died(log: Path | None = None) -> Snapshot:
    failure = Failure(
        "the engine was killed by the kernel: out of memory", "lower kv-pool, or free memory; R starts it again"
    )
    return ready(
        engine=engine(state="died", since=NOW - 9, failure=failure, log_path=log, memory_bytes=None),
        runs=runs(2),
        metrics=metrics(),
    )


def attached() -> Snapshot:
    """An engine that vtune does not own: nothing was asked of it, some of what it runs is known."""
    levers = tuple(replace(one, asked=one.applied or "unknown") for one in LEVERS)
    view = engine(state="attached", start_kind="attached", start_s=None, device=None, memory_bytes=None)
    return ready(profile="attached", engine=view, levers=levers, metrics=replace(metrics(), age_s=1.1), runs=runs(1))
