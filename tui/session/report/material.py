"""What a report is made of: the folded journal, and per run its requests and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.session import check, compare, lab
from tui.session import state as states
from tui.session.compare.pairing import Replayed
from tui.session.result import paired_ratios, result_of
from tui.session.state import EngineRecord, RunRecord, State
from tui.traffic.outcome import Outcome
from tui.traffic.replay.runfile import read_outcomes


@dataclass(frozen=True, slots=True)
class RunMaterial:
    record: RunRecord
    engine: EngineRecord | None
    outcomes: tuple[Outcome, ...]
    result: dict[str, Any]
    fault: str | None = None  # why its file could not be read

    @property
    def number(self) -> int:
        return self.record.number


@dataclass(frozen=True, slots=True)
class Material:
    """`ratios`: run number -> its ratios to the baseline; without the baseline itself, empty without one.

    `comparison` is the vtune.comparison/1 object of a session that compares arms.
    """

    state: State
    runs: tuple[RunMaterial, ...]
    baseline: RunMaterial | None
    ratios: Mapping[int, Mapping[str, float | None]]
    comparison: dict[str, Any] | None = None


def load(folder: Path) -> Material:
    """Read a session folder. Raises VtuneError when there is no session in it."""
    state = states.load(folder)
    runs = tuple(_run(folder, state, number) for number in sorted(state.runs))
    base = next((run for run in runs if run.number == state.baseline), None)
    others = [run for run in runs if run is not base] if base else []
    ratios = {run.number: paired_ratios(run.outcomes, run.result, base.outcomes, base.result) for run in others}
    return Material(state, runs, base, ratios, _comparison(state, runs))


def _comparison(state: State, runs: tuple[RunMaterial, ...]) -> dict[str, Any] | None:
    """As far as the runs go; None where none was to be made. Run n is the nth of the order."""
    plan = state.comparison
    if plan is None:
        return None
    in_a_round = 2 * len(plan["arms"])
    replays = [
        Replayed.of(run.number, arm, 1 + place // in_a_round, run.outcomes, run.result, run.record.state == "done")
        for place, (arm, run) in enumerate(zip(plan["order"], runs, strict=False))
    ]
    checked = check.output_check(plan, replays, state.checks)
    found = compare.comparison(plan, replays, str(state.header.get("session", "")), checked)
    return found if state.lab is None else lab.with_lab(found, state.lab, replays, _control(state.lab, runs))


def _control(event: Mapping[str, Any], runs: tuple[RunMaterial, ...]) -> Replayed | None:
    """The run beside the comparison that the lab event names."""
    wanted = event["control"]
    for run in runs:
        if wanted and (run.record.label, run.record.recording.get("sha256")) == (wanted["label"], wanted["sha256"]):
            return Replayed.of(
                run.number, run.record.label, 0, run.outcomes, run.result, run.record.state == "done"
            )
    return None


def _run(folder: Path, state: State, number: int) -> RunMaterial:
    record = state.runs[number]
    # Only the name: a journal from elsewhere must not make us read other files.
    path = folder / Path(record.file or f"run-{number}.jsonl").name
    outcomes: list[Outcome] = []
    end, fault = None, None
    if path.is_file():
        try:
            _, outcomes, end = read_outcomes(path)
        except VtuneError as error:
            fault = error.what.removeprefix(f"{folder}/")
    result = result_of(state, number, outcomes, end)
    outcomes.sort(key=lambda o: (o.due_s, o.id))
    return RunMaterial(record, state.engines.get(record.engine), tuple(outcomes), result, fault)
