"""Going back: an earlier run of this session served the same requests faster, on other levers."""

from tui.session.next_step.step import Result, Step, part
from tui.session.state import RunRecord, State

WORTH = 1.1  # times as long; one replay differs from the next by less, mostly
FEWEST = 5  # requests whose median says something


def back(state: State, newest: RunRecord) -> Step | None:
    """To the levers of the fastest such run, by the E2E p50; None where the newest is as fast."""
    ours = _median(newest.result or {})
    if ours is None:
        return None
    asked = state.engines[newest.engine].asked
    times = {
        run.number: median
        for run in state.runs.values()
        if run.state == "done" and _sent(run) == _sent(newest) and run.engine in state.engines
        and state.engines[run.engine].asked != asked and (median := _median(run.result or {})) is not None
    }  # fmt: skip
    number = min(times, key=times.__getitem__, default=None)
    if number is None or ours < WORTH * times[number]:
        return None
    levers = state.engines[state.runs[number].engine].asked
    changed = [f"{name}={value}" for name, value in levers.items() if asked.get(name) != value]
    slower = f"the same requests took {ours / times[number]:.1f}x as long in run {newest.number} (E2E p50)"
    return Step(None, None, f"{', '.join(changed) or 'without what was added'}; {slower}", number)


def _sent(run: RunRecord) -> tuple[object, ...]:
    return run.recording.get("sha256"), run.total, run.pace_text, run.meta.get("options")


def _median(result: Result) -> float | None:
    """None where requests failed: those that are left are others."""
    ok, sent = part(result, "requests", "ok") or 0, part(result, "requests", "sent")
    return part(result, "e2e_s", "p50") if ok >= FEWEST and ok == (sent or ok) else None
