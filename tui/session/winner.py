"""Which engine of a kept session won, and its command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.session import report, state
from tui.session.state import EngineRecord, State


@dataclass(frozen=True)
class Winner:
    """An engine as it was started; `why` is one sentence."""

    argv: tuple[str, ...]
    env: dict[str, str]
    why: str


def of(folder: Path, run: int | None = None) -> Winner:
    """The engine of `run`; else of the arm that the session's comparison favours; else of the last run.

    An arm wins that was faster somewhere and slower nowhere; of several the one that was faster in most verdicts.
    Raises VtuneError for a session or run that is not there, or an engine that vtune did not start.
    """
    kept = state.load(folder)
    if run is not None:
        return _of_run(kept, run, f"run {run}")
    found = report.compared(folder) if kept.comparison else None
    if found is not None:
        name, why = chosen(found)
        order = kept.comparison["order"] if kept.comparison else []
        number = next((n for n in kept.runs if n <= len(order) and order[n - 1] == name), None)
        if number is not None:
            return _of_run(kept, number, why)
    if not kept.runs:
        raise VtuneError("this session has no run", "replay first, or name another session")
    last = max(kept.runs)
    return _of_run(kept, last, f"run {last}, the last: nothing was compared here, --run N names another")


def chosen(found: Mapping[str, Any]) -> tuple[str, str]:
    """(arm, why) of a vtune.comparison/1 object."""
    wins: dict[str, int] = {}
    for arm in (arm["name"] for arm in found["arms"] if arm["name"] != found["baseline"]):
        words = [row["word"] for row in found["verdicts"] if row["arm"] == arm]
        if "slower" not in words and (count := words.count("faster")):
            wins[arm] = count
    if not wins:
        return found["baseline"], f"{found['baseline']}, the baseline: no arm was faster without being slower elsewhere"
    best = max(wins, key=lambda arm: wins[arm])
    return best, f"{best}: faster than {found['baseline']} in {wins[best]} of its verdicts, slower in none"


def _of_run(kept: State, number: int, why: str) -> Winner:
    if number not in kept.runs:
        raise VtuneError(f"no run {number} in this session", f"it has {', '.join(map(str, kept.runs)) or 'none'}")
    engine: EngineRecord = kept.engines[kept.runs[number].engine]
    if not engine.argv:
        raise VtuneError("vtune did not start this engine", "its command line is not known here")
    return Winner(engine.argv, dict(engine.env), why)
