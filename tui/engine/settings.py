"""What a profile says, as plain frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class EngineSettings:
    """Which engine to start, and how; `args` are vLLM flags without their dashes."""

    model: str  # bundled:NAME, a hub id, or a path
    python: str = "auto"  # the interpreter that has vLLM
    port: int | None = None  # None: a fresh one per launch
    front_port: int | None = None  # None: off
    env: Mapping[str, str] = field(default_factory=_empty)
    args: Mapping[str, Any] = field(default_factory=_empty)  # YAML values: bool, number, text, list or mapping
    warm: bool = True  # start through the warm starter where that is safe
    park: int = 1  # engines kept for an instant way back
    head_start: bool = True  # start a pending arm in the background
    pin_kv_pool: bool = True  # on a GPU, equal arms get the KV pool that the first of them came to
    preload: bool = False  # keep the weights on the GPU between engines (CUDA, vLLM 0.31)
    attach: tuple[str, ...] = ()  # URLs of engines that run already: requests go to the first, all are watched
    dev_mode: bool = True  # vLLM's development endpoints (reset, server info), on loopback


@dataclass(frozen=True)
class TrafficSettings:
    """Which recording to replay, and when its requests are sent."""

    recording: str | None = None
    pace: str = "recorded"
    speed: float = 1.0


@dataclass(frozen=True)
class Target:
    """A bound on one result; seconds for times, 0..1 for rates."""

    name: str  # as written: ttft-p95
    metric: str  # dotted path into vtune.run/1: ttft_s.all.p95
    limit: float
    at_least: bool = False  # a floor (hit rate, throughput) instead of a ceiling


@dataclass(frozen=True)
class Profile:
    """A model, how it is served, the traffic to replay on it, and what is asked of the result.

    `levers` holds only what the profile or ``--set`` says, in canonical words; `levers.resolve`
    fills in the rest. `raw` are vLLM flags of ``--set raw.FLAG=VALUE``: they come last and win.
    """

    name: str
    path: Path | None
    source_text: str
    engine: EngineSettings
    levers: Mapping[str, str] = field(default_factory=_empty)
    traffic: TrafficSettings = TrafficSettings()
    targets: tuple[Target, ...] = ()
    raw: Mapping[str, str] = field(default_factory=_empty)
    settings: tuple[str, ...] = ()  # the words of --set that were applied, in order
