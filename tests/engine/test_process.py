"""The engine's life, from launch to the freed port, with a small server in place of vLLM."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import alive, identities

from tui.engine import health
from tui.engine.inside import kin
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine, EngineFailed, next_log
from tui.errors import Exit, VtuneError

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not kin.HAVE_PROC, reason="needs /proc")


def launch(mode: str, *more: str, port: int | None = None) -> Launch:
    port = port or health.free_port()
    argv = (sys.executable, str(HERE / "answering.py"), mode, str(port), *more)
    return Launch(argv, {}, sys.executable, "127.0.0.1", port, f"http://127.0.0.1:{port}", "m", f"id-{mode}-{port}")


class Watched(Engine):
    def __init__(self, launch: Launch, keeper: Keeper, folder: Path, **more: Any) -> None:
        self.events: list[dict[str, Any]] = []
        super().__init__(launch, keeper, next_log(folder), self.events.append, **more)

    @property
    def states(self) -> list[str]:
        return [event["state"] for event in self.events if event["kind"] == "state"]


async def test_start_and_stop(keeper: Keeper, tmp_path: Path) -> None:
    engine = Watched(launch("deaf", str(HERE / "logs" / "ready-compiled.log")), keeper, tmp_path)
    await engine.start()
    who = identities(engine.pids())
    assert len(who) == 2 and engine.pid in engine.pids()
    assert engine.start_s and engine.start_s < 20
    engine.warmed()
    await engine.stop(grace_s=0.5)
    assert engine.states == ["starting", "warming", "ready", "stopping", "stopped"]
    assert not alive(who) and health.port_is_free("127.0.0.1", engine.launch.port)
    assert not engine.died.done()
    phases = [event["name"] for event in engine.events if event["kind"] == "phase"]
    assert phases == ["import", "config", "weights", "compile", "KV cache", "ready"]


async def test_warnings_that_concern_a_lever_are_told_once(keeper: Keeper, tmp_path: Path) -> None:
    log = tmp_path / "in.log"
    text = "This model does not officially support disabling chunked prefill. Disabling this manually may cause"
    line = f"(APIServer pid=1) WARNING 11-29 10:00:00 [arg_utils.py:3005] {text}\n"
    log.write_text(line + line + "(APIServer pid=1) WARNING 11-29 10:00:00 [cpu.py:224] Triton is not installed.\n")
    engine = Watched(launch("ok", str(log)), keeper, tmp_path)
    await engine.start()
    assert [event["text"] for event in engine.events if event["kind"] == "warning"] == [text]
    await engine.stop(0.2)


async def test_a_failed_start_tells_its_cause_and_leaves_nothing(keeper: Keeper, tmp_path: Path) -> None:
    engine = Watched(launch("crash", str(HERE / "logs" / "block-size.log")), keeper, tmp_path)
    with pytest.raises(EngineFailed) as caught:
        await engine.start()
    assert caught.value.code == Exit.ENGINE and caught.value.diagnosis.cause == "block-size"
    assert engine.states == ["starting", "failed"]
    assert engine.events[-1]["what"] == caught.value.what
    assert not engine.pids()


async def test_a_foreign_server_on_the_port_is_named(keeper: Keeper, tmp_path: Path) -> None:
    port = health.free_port()
    stranger = subprocess.Popen([sys.executable, str(HERE / "answering.py"), "ok", str(port)], start_new_session=True)
    try:
        while not await asyncio.to_thread(health.port_holders, port, []):
            await asyncio.sleep(0.02)
        engine = Watched(launch("mute", port=port), keeper, tmp_path)
        told = rf"port {port} is answered by pid {stranger.pid} \(.*answering\.py"  # a long command line is cut
        with pytest.raises(EngineFailed, match=told) as caught:
            await engine.start()
        assert caught.value.diagnosis.cause == "port-taken"
        assert stranger.poll() is None, "it is not ours to end"
        assert not engine.pids()
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.wait()


@pytest.mark.parametrize(("mode", "what"), [("no-token", "gives no token: HTTP 500"), ("die-at-token", "exit code 4")])
async def test_health_alone_is_not_ready(keeper: Keeper, tmp_path: Path, mode: str, what: str) -> None:
    engine = Watched(launch(mode), keeper, tmp_path)
    with pytest.raises(EngineFailed, match=what):
        await engine.start()
    assert engine.states == ["starting", "failed"] and not engine.pids()


async def test_a_start_that_never_ends_says_where_it_stood(keeper: Keeper, tmp_path: Path) -> None:
    engine = Watched(launch("mute"), keeper, tmp_path, start_timeout_s=1.5)
    with pytest.raises(EngineFailed, match="not ready after 2 s, it was at: config"):
        await engine.start()
    assert not engine.pids()


async def test_a_start_can_be_cancelled(keeper: Keeper, tmp_path: Path) -> None:
    engine = Watched(launch("mute"), keeper, tmp_path)
    starting = asyncio.create_task(engine.start())
    while len(engine.pids()) < 2:
        await asyncio.sleep(0.02)
    who = identities(engine.pids())
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not alive(who)
    assert engine.states == ["starting", "stopped"]


async def test_stop_during_a_start(keeper: Keeper, tmp_path: Path) -> None:
    engine = Watched(launch("mute"), keeper, tmp_path)
    starting = asyncio.create_task(engine.start())
    while len(engine.pids()) < 2:
        await asyncio.sleep(0.02)
    await engine.stop(0.2)
    with pytest.raises(EngineFailed):
        await starting
    assert engine.states == ["starting", "stopping", "stopped"]


async def test_death_in_a_run_is_told_with_what_the_run_logged(keeper: Keeper, tmp_path: Path) -> None:
    noise = str(HERE / "logs" / "block-size.log")  # errors from before the run are not the cause
    engine = Watched(launch("ok", noise), keeper, tmp_path)
    await engine.start()
    engine.warmed()
    who = identities(engine.pids())
    assert engine.pid
    os.kill(engine.pid, signal.SIGKILL)
    diagnosis = await asyncio.wait_for(engine.died, 10)
    assert "SIGKILL" in diagnosis.what
    assert engine.states[-1] == "died" and not alive(who)
    await engine.stop()
    assert engine.states[-1] == "died"


async def test_a_killed_keeper_ends_the_engine_and_says_so(keeper: Keeper, tmp_path: Path) -> None:
    engine = Watched(launch("ok"), keeper, tmp_path)
    await engine.start()
    who = identities(engine.pids())
    os.kill(keeper.pid, signal.SIGKILL)
    diagnosis = await asyncio.wait_for(engine.died, 10)
    assert "keeper" in diagnosis.what
    assert not alive(who)


async def test_an_interpreter_that_is_not_there(keeper: Keeper, tmp_path: Path) -> None:
    wrong = Launch(("/no/python",), {}, "/no/python", "127.0.0.1", 1, "http://127.0.0.1:1", "m", "x")
    engine = Watched(wrong, keeper, tmp_path)
    with pytest.raises(VtuneError, match="/no/python"):
        await engine.start()
    assert engine.states == ["starting", "failed"]


async def test_two_engines_under_one_keeper(keeper: Keeper, tmp_path: Path) -> None:
    first, second = Watched(launch("ok"), keeper, tmp_path), Watched(launch("ok"), keeper, tmp_path)
    assert first.log_path == second.log_path  # no file yet; the session numbers them
    second.log_path = tmp_path / "engine-2.log"
    await asyncio.gather(first.start(), second.start())
    assert not set(first.pids()) & set(second.pids())
    others = identities(second.pids())
    await first.stop(0.2)
    assert alive(others) == others
    assert next_log(tmp_path).name == "engine-3.log"


def test_free_ports_are_free_and_a_listener_is_seen() -> None:
    import socket

    port = health.free_port()
    assert health.port_is_free("127.0.0.1", port)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        assert not health.port_is_free("127.0.0.1", port)
        (holder,) = health.port_holders(port, []) or []
        assert holder.pid == os.getpid()
    assert health.port_holders(port, []) == []
