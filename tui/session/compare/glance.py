"""A run against the baseline in one sentence, for the dashboard: a ratio, and whether chance is ruled out."""

import math
from collections.abc import Iterable

import numpy as np

from tui.session.compare import bootstrap, chance
from tui.session.compare.pairing import Pairing, Replayed, values
from tui.session.compare.verdict import FEWEST, LEVEL, TTFT
from tui.session.state import RunRecord, State

_TTFT = "ttft_s"


def sentence(state: State, run: RunRecord, base: RunRecord) -> str | None:
    """TTFT p50 over the requests that both answered; None where there are too few, or they were not sent alike.

    Runs on the same levers count as replays of one arm: two of each make A against A. They are in the
    order in which the person made them, so drift does not cancel, as it does in `vtune compare`.
    """
    if run is base or _sent(run) != _sent(base):
        return None
    ours, theirs = _alike(state, run), _alike(state, base)
    same = ours[0] is theirs[0]
    rounds = 0 if same else min(len(ours), len(theirs)) // 2
    pairs = (ours, theirs) if rounds else ([run], [base])
    arm, baseline = (_rounds(side, max(rounds, 1)) for side in pairs)
    ids = Pairing(arm, baseline, mirrored=False).ids(_TTFT)
    if len(ids) < FEWEST[TTFT.q]:
        return None
    logs = [np.log(values(side, ids, _TTFT)) for side in (arm, baseline)]
    medians = [np.log(np.quantile(np.exp(side), TTFT.q, axis=-1)) for side in logs]
    centre = float(bootstrap.centre(medians[0]) - bootstrap.centre(medians[1]))
    told = f"TTFT p50 x{math.exp(centre):.2f} of run {base.number}'s for the same {len(ids)} requests"
    if same:
        return f"{told}, on the same levers: chance alone"
    if not rounds:
        return f"{told}; chance is not ruled out before both ran twice"
    return f"{_word(logs, medians, centre)}: {told}, {2 * rounds} replays each"


def compared(state: State, run: RunRecord, base: RunRecord) -> tuple[object, ...]:
    """The numbers of the runs that `sentence` looks at: it says the same until these are others."""
    sides = (_alike(state, run), _alike(state, base))
    return (run.number, base.number, *(tuple(one.number for one in side) for side in sides))


def _word(logs: list[np.ndarray], medians: list[np.ndarray], centre: float) -> str:
    asked = chance.Contrast.of(*(side.mean(axis=-1)[..., None] for side in logs))
    found = chance.Contrast.of(*(side[..., None] for side in medians))
    inside = chance.t_quantile(1 - LEVEL, found.df)
    if asked.t[0] < inside or abs(centre) < inside * found.error[0] or asked.contrast[0] * centre <= 0:
        return "no difference seen"
    return "faster" if centre < 0 else "slower"


def _sent(run: RunRecord) -> tuple[object, ...]:
    return run.recording.get("sha256"), run.total, run.pace_text, run.meta.get("options")


def _alike(state: State, run: RunRecord) -> list[RunRecord]:
    """Whole runs on the same levers, sent the same way; at least the run itself."""
    levers = state.engines[run.engine].asked
    found = [r for r in state.runs.values() if r.state == "done" and _sent(r) == _sent(run)]
    return [r for r in found if state.engines[r.engine].asked == levers] or [run]


def _rounds(runs: Iterable[RunRecord], rounds: int) -> tuple[tuple[Replayed, ...], ...]:
    """The newest `2 * rounds` runs, two a round; or what there is as one round."""
    replays = [Replayed.of(r.number, "", 0, r.finished, r.result or {}, True) for r in list(runs)[-2 * rounds :]]
    size = max(1, len(replays) // rounds)
    return tuple(tuple(replays[i : i + size]) for i in range(0, len(replays), size))
