"""How fast an engine of a profile is here: what an estimate of a lab's duration is made of."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tui import paths
from tui.engine import device, startup
from tui.session.compare.plan import Start
from tui.session.state import RunRecord

_WARM_UPS = 2.5  # unrelated prompts before a replay: two, or three where they do not agree


@dataclass(frozen=True, slots=True)
class Speed:
    """Prompt tokens/s of a prefill alone, seconds a decode step and a start; `known` where measured here."""

    prefill_tokens_per_s: float
    step_s: float
    start_s: float
    known: bool

    def replay_s(self, prefill_tokens: float, decode_steps: float, warm_up_tokens: int) -> float:
        """With its start and warm-up."""
        tokens = prefill_tokens + _WARM_UPS * warm_up_tokens
        return self.start_s + tokens / self.prefill_tokens_per_s + decode_steps * self.step_s


# Where nothing is known: the demo model on two CPU cores, with and without AVX-512, and any GPU with a small model.
_CPU, _SLOW_CPU = Speed(450.0, 0.037, 32.0, False), Speed(145.0, 0.070, 40.0, False)
_GPU = Speed(15_000.0, 0.010, 60.0, False)
_FORK_S = 5.0  # a warm start, where none is known


def of(profile: str, cpu: bool, start: Start) -> Speed:
    """As earlier labs and starts of this profile were, else an assumption."""
    assumed = (_SLOW_CPU if device.slow_at_16_bits() else _CPU) if cpu else _GPU
    phases = startup.estimate(profile, start)
    start_s = sum(phases.values()) if phases else _FORK_S if start == "warm" else assumed.start_s
    try:
        told = json.loads(_file(profile).read_text())
        step_s = float(told.get("step_s") or assumed.step_s)
        return Speed(float(told["prefill_tokens_per_s"]), step_s, start_s, True)
    except (OSError, ValueError, KeyError, TypeError):
        return Speed(assumed.prefill_tokens_per_s, assumed.step_s, start_s, False)


def learn(profile: str, runs: Sequence[RunRecord], alone: bool) -> None:
    """From the warm-ups of a lab's baseline runs, and their TPOT where requests came one `alone`.

    Never raises over a cache.
    """
    rates = [tokens / seconds[-1] for run in runs
             if (seconds := run.meta.get("warm_up_s")) and (tokens := run.meta.get("warm_up_tokens"))]  # fmt: skip
    steps = [step for run in runs if alone and run.result and (step := run.result["tpot_s"]["p50"])]
    if not rates:
        return
    told = {"schema": "vtune.speed/1", "prefill_tokens_per_s": round(median(rates), 1),
            "step_s": median(steps) if steps else None}  # fmt: skip
    try:
        paths.private_dir(_file(profile).parent)
        paths.write_whole(_file(profile), json.dumps(told))
    except OSError:
        pass


def _file(profile: str) -> Path:
    return paths.cache() / "speeds" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', profile)[:80]}.json"
