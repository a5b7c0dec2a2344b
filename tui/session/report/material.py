"""What a report is made of: the folded journal, and per run its requests and its result."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.session import state as states
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
    state: State
    runs: tuple[RunMaterial, ...]
    faults: tuple[str, ...] = field(default=())

    @property
    def baseline(self) -> RunMaterial | None:
        return next((run for run in self.runs if run.number == self.state.baseline), None)

    def ratios(self, run: RunMaterial) -> dict[str, float | None]:
        """Of `run` against the baseline; empty for the baseline itself and without one."""
        base = self.baseline
        if base is None or base is run:
            return {}
        return paired_ratios(run.outcomes, run.result, base.outcomes, base.result)


def load(folder: Path) -> Material:
    """Read a session folder. Raises VtuneError when there is no session in it."""
    state = states.load(folder)
    return Material(state, tuple(_run(folder, state, number) for number in sorted(state.runs)))


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
