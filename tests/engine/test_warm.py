"""The warm starter on a small package in vLLM's place: what a forked server has, what it refuses, what survives."""

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from processes import alive, identities

from tui.engine import health
from tui.engine.inside import kin
from tui.engine.keeper import Ending, Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine, EngineFailed
from tui.engine.warm import Starters, WarmRefused

HERE = Path(__file__).parent
FAKE = f"{HERE / 'fakevllm'}:{HERE}"
MODULE = "vllm.entrypoints.openai.api_server"
pytestmark = pytest.mark.skipif(not kin.HAVE_PROC, reason="needs /proc")


@pytest.fixture
def starters(keeper: Keeper, tmp_path: Path) -> Starters:
    return Starters(keeper, tmp_path)


def launch(*arguments: str, module: str = MODULE, **env: str) -> Launch:
    port = health.free_port()
    argv = (sys.executable, "-m", module, "--model", "none", "--port", str(port), *arguments)
    env = {"PYTHONPATH": FAKE, **env}
    return Launch(argv, env, sys.executable, "127.0.0.1", port, f"http://127.0.0.1:{port}", "m", f"id-{port}")


async def told(log: Path) -> dict[str, Any]:
    """What the server in vLLM's place says about itself."""
    for _ in range(500):
        for line in log.read_text().splitlines() if log.exists() else ():
            if line.startswith("{"):
                return json.loads(line)
        await asyncio.sleep(0.02)
    raise AssertionError(f"nothing told: {log.read_text() if log.exists() else 'no log'}")


async def test_a_forked_server_is_as_a_plain_one(keeper: Keeper, starters: Starters, tmp_path: Path) -> None:
    settings = launch(FAKE_ONE="1")
    plain_log, warm_log = tmp_path / "plain", tmp_path / "warm"
    warm = await starters.launch(settings, warm_log)
    by_fork = await told(warm_log)
    assert (await starters.ready(settings)).import_s is not None
    assert set(warm.members()) >= {warm.pid} and (await starters.ready(settings)).pid not in warm.members()
    await warm.stop(1)
    assert (await warm.exited).signal == signal.SIGTERM
    engine = Engine(settings, keeper, plain_log, lambda event: None)
    await engine.start()
    plainly = await told(plain_log)
    await engine.stop(1)
    assert plainly["method"] == "spawn" and by_fork["method"] == "fork"
    for differs in ("method", "descriptors"):
        plainly.pop(differs), by_fork.pop(differs)
    assert by_fork == plainly
    assert by_fork["blanket"] == "spawn", "what vLLM wrote into its environment stays"


async def test_nothing_but_the_standard_descriptors_is_inherited(starters: Starters, tmp_path: Path) -> None:
    for number in (1, 2):
        log = tmp_path / f"{number}.log"
        await starters.launch(launch("--exit"), log)
        assert (await told(log))["descriptors"] == [0, 1, 2, 3]  # 3 reads the directory


async def test_launches_share_a_starter_and_have_their_own_log_and_environment(
    starters: Starters, tmp_path: Path
) -> None:
    first, second, other = launch(), launch("--flag", "x"), launch(FAKE_ONE="2")
    one = await starters.launch(first, tmp_path / "1.log")
    two = await starters.launch(second, tmp_path / "2.log")
    assert (await starters.ready(first)).forks == 2
    assert await starters.ready(other) is not await starters.ready(first), "another environment is another starter"
    a, b = await told(tmp_path / "1.log"), await told(tmp_path / "2.log")
    assert a["env"] == {"VTUNE_LAUNCH": first.launch_id} and b["env"] == {"VTUNE_LAUNCH": second.launch_id}
    assert b["argv"][-2:] == ["--flag", "x"]
    who = identities(two.members())
    await one.stop(1)
    assert alive(who) == who


@pytest.mark.parametrize(
    ("env", "method"),
    [
        ({}, "fork"),
        ({"FAKE_REASON": "1"}, "spawn"),
        ({"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}, "spawn"),
        ({"VLLM_WORKER_MULTIPROC_METHOD": "fork"}, "fork"),
    ],
    ids=["blanket", "a reason of vLLM's", "the user's word", "fork anyway"],
)
async def test_vllm_chooses_the_start_method(
    starters: Starters, tmp_path: Path, env: dict[str, str], method: str
) -> None:
    child = await starters.launch(launch(**env), tmp_path / "log")
    assert (await told(tmp_path / "log"))["method"] == method
    while "worker id-" not in (tmp_path / "log").read_text():
        assert not child.exited.done(), (tmp_path / "log").read_text()
        await asyncio.sleep(0.02)


async def test_exits_are_reported_and_tracebacks_reach_the_log(
    keeper: Keeper, starters: Starters, tmp_path: Path
) -> None:
    child = await starters.launch(launch("--exit"), tmp_path / "1.log")
    assert await child.exited == Ending(code=3)
    failing = await starters.launch(launch("--fail"), tmp_path / "2.log")
    assert await failing.exited == Ending(code=1)
    log = (tmp_path / "2.log").read_text()
    assert "Traceback" in log and "ValueError: No common block size" in log
    engine = Engine(launch("--fail"), keeper, tmp_path / "3.log", lambda event: None, warm=starters)
    with pytest.raises(EngineFailed, match="multiple of 32"):
        await engine.start()
    assert (tmp_path / "3.log").read_text().count("Traceback") == 1, "a real refusal is not tried again"


@pytest.mark.parametrize(
    ("env", "why"),
    [({"FAKE_CUDA": "initialised"}, "CUDA is initialised"), ({"FAKE_THREAD": "1"}, "the starter has 2 threads")],
    ids=["cuda", "threads"],
)
async def test_an_unsafe_fork_is_refused_and_started_plainly(
    keeper: Keeper, starters: Starters, tmp_path: Path, env: dict[str, str], why: str
) -> None:
    with pytest.raises(WarmRefused, match=why):
        await starters.launch(launch(**env), tmp_path / "1.log")
    events: list[dict[str, Any]] = []
    engine = Engine(launch(**env), keeper, tmp_path / "2.log", events.append, warm=starters)
    await engine.start()
    assert engine.start_kind == "plain"
    assert any(why in event["text"] for event in events if event["kind"] == "warning")


async def test_another_command_or_a_broken_install_is_refused(starters: Starters, tmp_path: Path) -> None:
    with pytest.raises(WarmRefused, match="not a vLLM server"):
        await starters.launch(launch(module="http.server"), tmp_path / "log")
    with pytest.raises(WarmRefused, match="the starter ended"):
        await starters.launch(launch(PYTHONPATH="", PYTHONHOME="/nonexistent"), tmp_path / "log")


async def test_a_warm_start_that_stands_still_is_repeated_plainly(
    keeper: Keeper, starters: Starters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.engine.process._STILL_S", 1.0)
    events: list[dict[str, Any]] = []
    engine = Engine(launch("--hang"), keeper, tmp_path / "log", events.append, warm=starters)
    await engine.start()
    assert engine.start_kind == "plain"
    assert any("stood still for 1 s" in event["text"] for event in events if event["kind"] == "warning")
    await engine.stop(1)


async def test_a_launch_that_is_given_up_leaves_no_server(
    keeper: Keeper, starters: Starters, tmp_path: Path
) -> None:
    starter = await starters.ready(launch())
    for turns in range(12):  # given up at every point between the question and the adoption
        given_up = asyncio.create_task(starters.launch(launch(), tmp_path / f"{turns}.log"))
        await asyncio.sleep(turns / 1000)
        if given_up.done():
            await given_up.result().stop(1.0)
            continue
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
    kept = await starters.launch(launch(), tmp_path / "kept.log")
    assert (await told(tmp_path / "kept.log"))["env"]["VTUNE_LAUNCH"] == kept.name
    for _ in range(300):
        others = {starter.pid, *kept.members()}
        left = {proc.pid for proc in kin.descendants(keeper.pid, kin.table()) if proc.alive} - others
        if not left:
            break
        await asyncio.sleep(0.02)
    assert not left


async def test_a_starter_that_cannot_be_made_is_not_tried_for_every_launch(
    starters: Starters, tmp_path: Path
) -> None:
    broken = {"PYTHONPATH": "", "PYTHONHOME": "/nonexistent"}
    for _ in range(3):
        with pytest.raises(WarmRefused, match="the starter ended"):
            await starters.launch(launch(**broken), tmp_path / "log")
    assert len(list(tmp_path.glob("starter-*.log"))) == 1


async def test_a_server_survives_its_starter_and_a_new_one_is_made(starters: Starters, tmp_path: Path) -> None:
    child = await starters.launch(launch(), tmp_path / "1.log")
    await told(tmp_path / "1.log")
    who = identities(child.members())
    first = await starters.ready(launch())
    os.kill(first.pid, signal.SIGKILL)
    while first.alive:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    assert alive(who) == who
    again = await starters.launch(launch(), tmp_path / "2.log")
    assert await starters.ready(launch()) is not first
    await asyncio.gather(child.stop(1), again.stop(1))
    assert not alive(who)


async def test_closing_the_keeper_leaves_neither_starter_nor_server(keeper: Keeper, tmp_path: Path) -> None:
    starters = Starters(keeper, tmp_path)
    child = await starters.launch(launch(), tmp_path / "log")
    await told(tmp_path / "log")
    who = identities([*child.members(), (await starters.ready(launch())).pid])
    await keeper.close()
    assert not alive(who)


async def test_the_socket_is_private_and_short_lived(
    starters: Starters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []

    def remove(folder: Path, **options: bool) -> None:
        modes.extend(path.stat().st_mode & 0o777 for path in (folder, folder / "starter"))
        shutil.rmtree(folder)

    monkeypatch.setattr("tui.engine.warm.shutil", SimpleNamespace(rmtree=remove))
    starter = await starters.ready(launch())
    assert modes == [0o700, 0o600]
    await starters.close()
    assert not starter.alive


async def test_fifty_forks_leave_no_trace(starters: Starters, tmp_path: Path) -> None:
    starter = await starters.ready(launch())
    before = len(os.listdir(f"/proc/{starter.pid}/fd"))
    for number in range(50):
        child = await starters.launch(launch("--exit"), tmp_path / f"{number}.log")
        assert await child.exited == Ending(code=3)
    assert len(os.listdir(f"/proc/{starter.pid}/fd")) == before
