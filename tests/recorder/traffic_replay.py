"""Replays a recording one request at a time."""

from pathlib import Path

from tui.traffic.outcome import Outcome
from tui.traffic.replay import Replay, ReplaySpec, read_outcomes


async def replayed(url: str, path: Path, out: Path) -> dict[str, Outcome]:
    run = await Replay.start(ReplaySpec(url, None, str(path), str(out), pace="closed:1"))
    await run.wait()
    return {outcome.id: outcome for outcome in read_outcomes(out)[1]}
