"""How fast an engine of a profile is here: what an estimate of a lab's duration is made of."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tui import paths
from tui.engine import startup

_WARM_UPS = 2.5  # unrelated prompts before a replay: two, or three where they do not agree


@dataclass(frozen=True, slots=True)
class Speed:
    """Prompt tokens/s of a prefill alone, seconds a decode step and a plain start; `known` where measured here."""

    prefill_tokens_per_s: float
    step_s: float
    start_s: float
    known: bool

    def replay_s(self, prefill_tokens: float, decode_steps: float, warm_up_tokens: int) -> float:
        """With its start and warm-up."""
        tokens = prefill_tokens + _WARM_UPS * warm_up_tokens
        return self.start_s + tokens / self.prefill_tokens_per_s + decode_steps * self.step_s


# Where nothing is known: the demo model on two CPU cores, and any GPU with a small model.
_CPU, _GPU = Speed(450.0, 0.037, 32.0, False), Speed(15_000.0, 0.010, 60.0, False)


def of(profile: str, cpu: bool) -> Speed:
    """As earlier labs and plain starts of this profile were, else an assumption."""
    assumed = _CPU if cpu else _GPU
    phases = startup.estimate(profile, "plain")
    start = sum(phases.values()) if phases else assumed.start_s
    try:
        told = json.loads(_file(profile).read_text())
        return Speed(float(told["prefill_tokens_per_s"]), float(told["step_s"]), start, True)
    except (OSError, ValueError, KeyError, TypeError):
        return Speed(assumed.prefill_tokens_per_s, assumed.step_s, start, False)


def learn(profile: str, runs: Iterable[Mapping[str, Any]]) -> None:
    """From vtune.run/1 objects of one request at a time without levers that speed it up; never raises over a cache."""
    rates = [tokens / ttft for run in runs if (ttft := run["ttft_s"]["all"]["p50"]) and
             (tokens := run["recording"]["prompt_tokens"]["p50"])]  # fmt: skip
    steps = [step for run in runs if (step := run["tpot_s"]["p50"])]
    if not rates or not steps:
        return
    told = {"schema": "vtune.speed/1", "prefill_tokens_per_s": round(median(rates), 1), "step_s": median(steps)}
    try:
        paths.private_dir(_file(profile).parent)
        paths.write_whole(_file(profile), json.dumps(told))
    except OSError:
        pass


def _file(profile: str) -> Path:
    return paths.cache() / "speeds" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', profile)[:80]}.json"
