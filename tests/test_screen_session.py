"""The screen on a real session with the stand-in engine: keys, restarts and the way back to a parked engine."""

import asyncio
from typing import get_args

import pytest

from tui.app import VtuneApp
from tui.engine import profile
from tui.session.late import LateSession
from tui.session.snapshot import EngineState
from tui.session.traffic import traffic_of
from tui.widgets.engine_state import STATES


def test_every_state_of_an_engine_has_its_word():
    assert set(STATES) == set(get_args(EngineState))


async def until(pilot, wanted, seconds=30):
    async with asyncio.timeout(seconds):
        while not wanted(pilot.app._newest):
            await pilot.pause(0.05)
    return pilot.app._newest


@pytest.mark.matrix
async def test_toggling_to_and_fro_goes_by_parked_engines(standin_profile, tmp_path):
    wanted = profile.load(str(standin_profile))
    app = VtuneApp(LateSession(wanted, traffic_of(wanted), tmp_path / "session"))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda s: s.engine.state == "ready")
        for number in (1, 2, 3):
            await pilot.press("space")
            await until(pilot, lambda s: bool(s.pending))
            await pilot.press("a")
            await until(pilot, lambda s: s.engine.state == "ready" and not s.pending)
            await pilot.press("r")
            seen = await until(pilot, lambda s, n=number: len(s.runs) == n)
        await pilot.press("q")
        async with asyncio.timeout(20):
            while app.is_running:
                await pilot.pause(0.05)
    kinds = [run.result["engine"]["start_kind"] for run in seen.runs]
    caching = [run.result["engine"]["applied"]["prefix-caching"] for run in seen.runs]
    assert caching == ["off", "on", "off"]
    assert kinds[1:] == ["parked", "parked"]
