"""From a study to what is going to happen: which arms, how many requests, and how long that may take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui.engine import install
from tui.engine.lever_values import Chunking
from tui.engine.settings import Profile
from tui.errors import VtuneError
from tui.session import warmup
from tui.session.compare.plan import Plan, parse_vary
from tui.session.lab import chunked, prefix, speculative
from tui.session.lab import speed as speeds
from tui.session.lab.speed import Speed
from tui.session.lab.study import Study
from tui.session.traffic import Traffic
from tui.traffic import recording
from tui.traffic.recording import Recording, Request

STUDIES: dict[str, Study] = {module.STUDY.name: module.STUDY for module in (prefix, chunked, speculative)}
LONGEST_S = 600.0  # a default that would take longer is cut


@dataclass(frozen=True, slots=True)
class Lab:
    """A study ready to be carried out; `cut` where scale and arms are those for a slow engine."""

    study: Study
    plan: Plan
    scale: float
    cut: bool
    speed: Speed
    estimate_s: float

    def event(self, traffic: Traffic, control: Traffic | None) -> dict[str, Any]:
        """What the journal keeps: enough to tell what was found, and to do it again, from the session folder alone."""
        return {
            "study": self.study.name,
            "scale": self.scale,
            "cut": self.cut,
            "notes": self.study.notes,
            "estimate_s": round(self.estimate_s),
            "requests": len(traffic.recording.requests),
            "control": control and {"label": control.label, "sha256": control.recording.sha256,
                                    "requests": len(control.recording.requests)},
        }  # fmt: skip

    def control(self) -> tuple[str, Profile, list[Request]] | None:
        """Label, profile and requests of the control."""
        wanted = self.study.control
        if wanted is None:
            return None
        arm = next(a for a in self.plan.arms if a.settings == (f"{self.study.lever}={wanted.value}",))
        return wanted.label, arm.profile, wanted.requests(self.scale)


def prepare(
    name: str, profile: Profile, scale: float | None = None, arms: str | None = None, rounds: int = 1, seed: int = 0
) -> Lab:
    """Raises VtuneError for a scale or arms that mean nothing, and (exit 3) where an arm has no vLLM."""
    study = STUDIES[name]
    if scale is not None and not 0 < scale <= 100:
        raise VtuneError(f"--scale {scale:g}: not a scale", "1 is the full number of requests, 0.5 half of it")
    if name == "speculative" and profile.engine.model != speculative.DRAFT_OF:
        study = speculative.without_draft(study)
    if arms and study.control is not None:
        raise VtuneError(f"--arms: {name} has two arms, off and on", "leave --arms out")
    found = install.find(profile.engine.python)
    speed = speeds.of(profile.name, found.platform == "cpu")
    cut = estimate(study, study.arms, 1.0, rounds, speed) > LONGEST_S
    vary = f"{study.lever}={arms or ','.join(study.few if cut else study.arms)}"
    values = parse_vary(vary)[1]
    wanted = scale if scale is not None else study.cut if cut else 1.0
    plan = Plan.of(profile, [vary], rounds, seed)
    return Lab(study, plan, wanted, cut, speed, estimate(study, values, wanted, rounds, speed))


def estimate(study: Study, values: Sequence[str], scale: float, rounds: int, speed: Speed) -> float:
    """Seconds for all replays, starts and warm-ups included."""
    sent = study.requests(scale)
    total = sum(2 * rounds * _replay_s(study, value, sent, speed) for value in values)
    if study.control is not None:
        total += _replay_s(study, study.control.value, study.control.requests(scale), speed)
    return total


def _replay_s(study: Study, value: str, sent: Sequence[Request], speed: Speed) -> float:
    budget = Chunking.read(value).budget if study.lever == "chunked-prefill" else None
    load = study.load(value, sent)
    return speed.replay_s(load.prefill_tokens, load.decode_steps, warmup.warm_up_length(budget, None))


def traffic(lab: Lab, requests: Sequence[Request], folder: Path, label: str | None = None) -> Traffic:
    """The requests as a recording in `folder`, at the study's pace."""
    name = f"lab-{lab.study.name}" + (f"-{label}" if label else "")
    made = Traffic(_recorded(folder / f"{name}.jsonl", name, lab.study.notes, requests), pace=lab.study.pace)
    return replace(made, seed=lab.plan.seed, fix_lengths=lab.study.fix_lengths, label=label)


def _recorded(path: Path, name: str, notes: str, requests: Sequence[Request]) -> Recording:
    header = {"name": name, "captured_at": None, "source": "vtune lab", "synthetic": True, "notes": notes}
    recording.write(path, header, requests, force=True)
    return recording.load(path)
