"""Replays of a comparison made of arrays, with the noise that a machine adds: a replay's drift, each request's own."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tui.session.compare.pairing import Replayed
from tui.traffic.outcome import Outcome

LENGTH = 17  # output tokens of every answer


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logarithms. `drift` follows an AR(1) over the order of the replays."""

    request: float = 0.1
    drift: float = 0.05
    memory: float = 0.5  # of the drift: correlation of one replay with the next
    apart: bool = False  # TTFT and TPOT drift by themselves, not together
    outliers: float = 0.0  # share of the requests that take twice as long


def order(arms: int, rounds: int) -> list[int]:
    return [*range(arms), *reversed(range(arms))] * rounds


def drift(noise: Noise, replays: int, rng: np.random.Generator) -> np.ndarray:
    """(replays, 2): for TTFT and for TPOT."""
    steps = rng.standard_normal((replays, 2))
    found = np.empty_like(steps)
    found[0] = steps[0]
    for i in range(1, replays):
        found[i] = noise.memory * found[i - 1] + np.sqrt(1 - noise.memory**2) * steps[i]
    return noise.drift * (found if noise.apart else found[:, [0, 0]])


def times(
    noise: Noise, rng: np.random.Generator, arms: int = 2, rounds: int = 1, requests: int = 32, gain: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """TTFT and TPOT (replays, requests), seconds; every arm but the first has TTFTs `gain` times as long.

    Every fourth request is a cold one, five times as slow.
    """
    plan = order(arms, rounds)
    slow = np.where(np.arange(requests) % 4 == 0, 5.0, 1.0) * np.exp(0.2 * rng.standard_normal(requests))
    found = []
    shift = drift(noise, len(plan), rng)
    for which, base in enumerate((0.2 * slow, np.full(requests, 0.03))):
        own = noise.request * rng.standard_normal((len(plan), requests)) + shift[:, [which]]
        late = np.where(rng.random(own.shape) < noise.outliers, 2.0, 1.0)
        found.append(base * np.exp(own) * late)
    found[0][[i for i, arm in enumerate(plan) if arm]] *= gain
    return found[0], found[1]


def result(**changes: Any) -> dict[str, Any]:
    """What a comparison reads of a vtune.run/1 object; `changes` by block."""
    known = {"queue_s": {"mean": 0.0}, "prefill_s": {"p50": 0.2}, "decode_s": {"p50": 0.5}}
    found: dict[str, Any] = {
        "engine": {"start_kind": "plain", "kv_cache_tokens": 40_000, "vllm": "0.32.0"},
        "requests": {"sent": 32, "ok": 32, "failed": 0},
        "throughput": {"output_tokens_per_s": 10.0},
        "server": known,
        "prefix_cache": {"state": "on", "hits": 9600, "hit_rate": 0.6, "ceiling": 0.62},
        "speculative": {"state": "off", "acceptance_rate": None, "mean_acceptance_length": None,
                        "tokens_per_step": 1.0},
        "kv_cache": {"usage_peak": 0.2, "preemptions": 0},
        "memory": {"engine_pss_peak_bytes": 2 << 30},
        "steps": {"n": None, "requests": None, "tokens": None},
        "in_flight": {"mean": 1.5},
        "targets": [],
        "recording": {"name": "made"},
        "pace": {"mode": "closed"},
    }  # fmt: skip
    return found | {block: found[block] | values for block, values in changes.items()}


def replays(ttft: np.ndarray, tpot: np.ndarray, arms: int = 2, rounds: int = 1, **changes: Any) -> list[Replayed]:
    """Arms are named A, B, C, ...; `changes` go into every result."""
    found = []
    for number, (arm, t, d) in enumerate(zip(order(arms, rounds), ttft, tpot, strict=True)):
        outcomes = [outcome(i, t[i], d[i]) for i in range(len(t))]
        speed = LENGTH * len(t) / float(sum(o.e2e_s or 0.0 for o in outcomes))
        told = result(**{"throughput": {"output_tokens_per_s": speed}, **changes})
        found.append(Replayed.of(number + 1, "ABCDEF"[arm], 1 + number // (2 * arms), outcomes, told, True))
    return found


def outcome(i: int, ttft: float, tpot: float, length: int = LENGTH) -> Outcome:
    decode = tpot * (length - 1)
    return Outcome(
        f"r{i:03}", "short" if i % 2 else "long", "ok", float(i), float(i), ttft_s=float(ttft),
        e2e_s=float(ttft + decode), decode_s=float(decode), prompt_tokens=1000, cached_tokens=0 if i % 4 == 0 else 800,
        output_tokens=length,
    )  # fmt: skip


def plan(arms: int = 2, rounds: int = 1, **changes: Any) -> dict[str, Any]:
    names = "ABCDEF"[:arms]
    return {
        "vary": ["max-num-seqs=" + ",".join(names)],
        "arms": [{"name": name, "settings": [f"max-num-seqs={name}"]} for name in names],
        "baseline": "A", "rounds": rounds, "order": [names[i] for i in order(arms, rounds)], "seed": 0,
        "start": "plain", "fix_lengths": False, **changes,
    }  # fmt: skip
