"""Faults that only the real engine can show: what is left of vLLM's own tree of processes when one of them goes."""

import asyncio
import os
import signal
import time

import pytest
import real
from faults import answered, settled
from made import left, runs

from tui.engine.inside import kin
from tui.session.session import Session
from tui.session.traffic import traffic_of

pytestmark = pytest.mark.engine


@pytest.fixture
async def session(tmp_path):
    """The demo profile, its engine ready, a replay of a minute or two without a warm-up."""
    demo = real.demo("engine.head-start=off")
    traffic = traffic_of(demo, "mixed-lengths", pace="closed:1", cache="keep")  # the first is short
    made = Session(demo, traffic, tmp_path / "session")
    await made.start()
    await made.ready()
    yield made
    await made.close()


async def until(session: Session, wanted, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not wanted(session.state):
            await session._changed.wait()
            await asyncio.sleep(0)


async def gone(pids: list[int], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while any(runs(pid) for pid in pids):
            await asyncio.sleep(0.05)


def tree(session: Session) -> dict[str, int]:
    """Server, core and worker: each is the parent of the next."""
    pids = session.host.engine.pids()
    server = session.host.engine.pid
    core = next(pid for pid in pids if kin.read(pid).ppid == server and any(kin.read(p).ppid == pid for p in pids))
    below = [pid for pid in pids if kin.read(pid).ppid == core]  # Python's resource tracker is there too
    return {"server": server, "core": core, "worker": max(below, key=lambda pid: len(os.listdir(f"/proc/{pid}/task")))}


@pytest.mark.matrix
async def test_whichever_process_of_an_engine_is_killed_its_whole_tree_goes_and_the_cause_is_told(session, tmp_path):
    for number, who in enumerate(("core", "worker", "server"), 1):
        await session.replay()
        await until(session, answered)
        pids = session.host.engine.pids()
        os.kill(tree(session)[who], signal.SIGKILL)
        result = await session.finished()
        await until(session, lambda s: s.engine.state == "died", 20)
        await gone(pids)
        assert "killed" in session.state.engine.failure[0], who
        assert 1 <= result["requests"]["ok"] < result["recording"]["requests"]
        assert session.state.runs[number].result == result and session.state.baseline is None
        await session.restart()
        await session.ready()
    await session.close()
    assert len(settled(tmp_path, session.folder).runs) == 3


@pytest.mark.matrix
async def test_a_stopped_worker_hangs_and_is_ended_all_the_same(session, tmp_path, monkeypatch):
    monkeypatch.setattr("tui.session.stall.LEAST_S", 2.0)
    monkeypatch.setattr("tui.session.stall.TIMES", 1.0)
    await session.replay()
    await until(session, answered)
    os.kill(tree(session)["worker"], signal.SIGSTOP)
    await until(session, lambda s: any("no progress" in notice["what"] for notice in s.notices))
    assert session.state.engine.state == "ready"  # told, never ended unasked
    begun = time.monotonic()
    await session.close()
    assert time.monotonic() - begun < 30
    assert settled(tmp_path, session.folder).runs[1].state == "cancelled"


async def test_the_warm_starter_is_killed_and_its_engine_serves_on(session, tmp_path):
    if session.host.engine.start_kind != "warm":
        pytest.skip("this engine was not started warm")
    (starter,) = (task.result() for task in session.host._starters._made.values())
    os.kill(starter.pid, signal.SIGKILL)
    await gone([starter.pid])
    await session.replay()
    await until(session, answered)
    await session.cancel_replay()
    await session.finished()
    session.set_lever("max-num-seqs", "64")
    await session.apply()
    await session.ready()
    assert session.state.engine.number == 2 and session.state.engine.state == "ready"
    await session.close()
    assert settled(tmp_path, session.folder).closed and not left(tmp_path)
