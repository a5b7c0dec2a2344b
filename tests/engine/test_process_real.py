"""The real vLLM under the keeper: it comes up, goes without a trace, and does not outlive its owner."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from processes import alive, identities, wait_gone

from tui.engine import health
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine, EngineFailed

pytestmark = pytest.mark.engine
HERE = Path(__file__).parent


def leftovers() -> set[Path]:
    return {*Path("/dev/shm").glob("psm_*"), *Path("/tmp").glob("vllm_dist_*")}


@pytest.mark.matrix
async def test_a_start_shows_its_phases_and_a_stop_leaves_nothing(
    real_launch: Callable[..., Launch], tmp_path: Path
) -> None:
    before, events = leftovers(), list[dict[str, Any]]()
    keeper = await Keeper.open()
    engine = Engine(real_launch(), keeper, tmp_path / "engine-1.log", events.append)
    await engine.start()
    who = identities(engine.pids())
    assert len(who) >= 3, "server, core and worker"
    phases = [event["name"] for event in events if event["kind"] == "phase"]
    assert [*phases[:3], phases[-1]] == ["import", "config", "weights", "ready"]
    await engine.stop()
    assert not alive(who)
    assert health.port_is_free(engine.launch.host, engine.launch.port)
    await keeper.close()
    assert leftovers() <= before


@pytest.mark.matrix
def test_nothing_outlives_a_killed_owner(real_launch: Callable[..., Launch], tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, str(HERE / "engine_owner.py"), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    launch = real_launch()
    assert owner.stdin and owner.stdout
    owner.stdin.write(json.dumps(asdict(launch)))
    owner.stdin.close()
    told = json.loads(owner.stdout.readline())
    who = identities([told["keeper"], *told["pids"]])
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert not wait_gone(who, 10)
    assert health.port_is_free(launch.host, launch.port)


@pytest.mark.matrix
async def test_a_real_failing_start_is_told_by_its_root_cause(
    real_launch: Callable[..., Launch], tmp_path: Path
) -> None:
    keeper = await Keeper.open()
    engine = Engine(real_launch("raw.block-size=16"), keeper, tmp_path / "engine-1.log", lambda event: None)
    with pytest.raises(EngineFailed) as caught:
        await engine.start()
    assert caught.value.diagnosis.lever == "block-size" and "multiple of 32" in caught.value.mend
    assert not engine.pids()
    await keeper.close()
