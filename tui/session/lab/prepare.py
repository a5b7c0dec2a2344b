"""From a study to what is going to happen: which arms, how many requests, and how long that may take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui.engine import install, levers
from tui.engine.lever import Surroundings
from tui.engine.profile_set import with_settings
from tui.engine.settings import Profile
from tui.errors import VtuneError
from tui.session.compare.plan import Plan, Start, parse_vary
from tui.session.lab import chunked, estimate, prefix, speculative
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
    """A study ready to be carried out; `cut` where its own arms and requests would take over ten minutes here."""

    study: Study
    plan: Plan
    scale: float
    cut: bool
    speed: Speed
    estimate_s: float
    check_s: float  # at most so much more, where the answers are checked
    asked: bool = False  # whether the scale was
    left_out: tuple[str, ...] = ()  # values that this profile can't have

    def event(self, traffic: Traffic, control: Traffic | None) -> dict[str, Any]:
        """What the journal keeps: enough to tell what was found, and to do it again, from the session folder alone."""
        return {
            "study": self.study.name,
            "scale": self.scale,
            "asked": self.asked,
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
    name: str, profile: Profile, scale: float | None = None, arms: str | None = None, rounds: int = 1, seed: int = 0,
    start: Start | None = None,
) -> Lab:  # fmt: skip
    """Without a `start` engines are forked on a CPU, where most of a plain start is imports, and plain on a GPU.

    Raises VtuneError for a scale or arms that mean nothing, and (exit 3) where an arm has no vLLM."""
    study = _for(STUDIES[name], profile)
    if scale is not None and not 0 < scale <= 100:
        raise VtuneError(f"--scale {scale:g}: not a scale", "1 is the full number of requests, 0.5 half of it")
    if arms and study.control is not None:
        raise VtuneError(f"--arms: {name} has two arms, off and on", "leave --arms out")
    found = install.find(profile.engine.python)
    start = start or ("warm" if found.platform == "cpu" else "plain")
    speed = speeds.of(profile.name, found.platform == "cpu", start)
    possible = replace(study, arms=_possible(profile, study, study.arms), few=_possible(profile, study, study.few))
    default, fitting = _default(possible, rounds, speed)
    vary = f"{study.lever}={arms or ','.join(default)}"
    values = parse_vary(vary)[1]
    wanted = fitting if scale is None else scale
    plan = Plan.of(profile, [vary], rounds, seed, start=start)
    cut = fitting < 1 or default != possible.arms
    wished = () if arms else study.few if default == possible.few else study.arms
    left_out = tuple(value for value in wished if value not in default)
    return Lab(
        study, plan, wanted, cut, speed,
        estimate_s=estimate.replays_s(study, values, wanted, rounds, speed),
        check_s=estimate.check_s(study, values, wanted, speed),
        asked=scale is not None,
        left_out=left_out,
    )  # fmt: skip


def _default(study: Study, rounds: int, speed: Speed) -> tuple[tuple[str, ...], float]:
    """Arms and scale: the whole of it, fewer arms where it takes too long, and fewer requests where it still does."""
    for arms, scale in ((study.arms, 1.0), (study.few, 1.0)):
        if estimate.replays_s(study, arms, scale, rounds, speed) <= LONGEST_S:
            return arms, scale
    return study.few, study.cut


def _for(study: Study, profile: Profile) -> Study:
    """With the profile's own value among the arms. VtuneError where the prompts do not fit its model."""
    room = profile.engine.args.get("max-model-len")
    if isinstance(room, int) and room < study.longest:
        what = f"lab {study.name} needs {study.longest:,} tokens for a prompt and its answer, max-model-len is {room:,}"
        raise VtuneError(what, f"--set engine.args.max-model-len={2 * study.longest}")
    if study.name == "speculative" and profile.engine.model != speculative.DRAFT_OF:
        study = speculative.without_draft(study)
    own = profile.levers.get(study.lever)
    known = {levers.get(study.lever).parse(value) for value in study.arms}
    if study.control is not None or own is None or own in known:
        return study
    return replace(study, arms=(*study.arms, own), few=(*study.few, own))


def _possible(profile: Profile, study: Study, values: Sequence[str]) -> tuple[str, ...]:
    """The values that vLLM would take: a budget must not be under max-num-seqs."""

    def taken(value: str) -> bool:
        try:
            levers.resolve(with_settings(profile, [f"{study.lever}={value}"]).levers, Surroundings())
        except VtuneError:
            return False
        return True

    return tuple(value for value in values if taken(value))


def traffic(lab: Lab, requests: Sequence[Request], folder: Path, label: str | None = None) -> Traffic:
    """The requests as a recording in `folder`, at the study's pace."""
    name = f"lab-{lab.study.name}" + (f"-{label}" if label else "")
    made = Traffic(_recorded(folder / f"{name}.jsonl", name, lab.study.notes, requests), pace=lab.study.pace)
    return replace(made, seed=lab.plan.seed, fix_lengths=lab.study.fix_lengths, label=label)


def _recorded(path: Path, name: str, notes: str, requests: Sequence[Request]) -> Recording:
    header = {"name": name, "captured_at": None, "source": "vtune lab", "synthetic": True, "notes": notes}
    recording.write(path, header, requests, force=True)
    return recording.load(path)
