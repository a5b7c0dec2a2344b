"""Going from arm to arm: parked engines come back, a pending arm starts ahead, a refused one is rolled back."""

import asyncio

import pytest
from made import members, runs, write_recording

from tui.engine import profile as profiles
from tui.engine.profile_set import with_settings
from tui.errors import VtuneError
from tui.session.session import Session
from tui.session.traffic import traffic_of


@pytest.fixture
async def make(standin_profile, tmp_path):
    made = []

    def session(*settings: str) -> Session:
        profile = with_settings(profiles.load(str(standin_profile)), ["engine.head-start=off", *settings])
        made.append(Session(profile, traffic_of(profile), tmp_path / f"session-{len(made)}"))
        return made[-1]

    yield session
    for one in made:
        await one.close()


async def serve(session: Session, **levers: str) -> None:
    for name, value in levers.items():
        session.set_lever(name.replace("_", "-"), value)
    await session.apply()
    await session.ready()


async def until(session: Session, wanted, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not wanted(session.state):
            await session._changed.wait()
            await asyncio.sleep(0)


def states(session: Session) -> dict[int, str]:
    return {number: engine.state for number, engine in session.state.engines.items()}


async def test_the_way_back_is_a_parked_engine_with_an_empty_cache(make):
    session = make()
    await session.start()
    await session.ready()
    await session.replay()
    await session.finished()
    await serve(session, max_num_seqs="64")
    assert states(session) == {1: "parked", 2: "ready"}
    await serve(session, max_num_seqs="128")
    assert states(session) == {1: "ready", 2: "parked"}
    assert session.state.engine.start_kind == "parked" and session.state.engine.start_s < 5
    await session.replay()
    again = await session.finished()
    assert again["engine"]["start_kind"] == "parked" and again["ttft_s"]["cold"]["n"] >= 1
    assert again["engine"]["asked"]["max-num-seqs"] == "128"


@pytest.mark.matrix
async def test_no_more_engines_are_parked_than_the_profile_says(make):
    session = make("engine.park=1")
    await session.start()
    await session.ready()
    for seqs in ("64", "32", "16"):
        await serve(session, max_num_seqs=seqs)
    assert states(session) == {1: "stopped", 2: "stopped", 3: "parked", 4: "ready"}
    urls = [engine.url for engine in session.state.engines.values()]
    assert [bool(members(url)) for url in urls] == [False, False, True, True]


async def test_without_parking_the_old_engine_ends_before_the_new_one_starts(make):
    session = make("engine.park=0")
    await session.start()
    await session.ready()
    await serve(session, max_num_seqs="64")
    assert states(session) == {1: "stopped", 2: "ready"}


async def test_a_parked_engine_that_died_is_started_anew(make):
    session = make()
    await session.start()
    await session.ready()
    await serve(session, max_num_seqs="64")
    import os

    os.kill(members(session.state.engines[1].url)[0], 9)
    await until(session, lambda s: s.engines[1].state == "died")
    await serve(session, max_num_seqs="128")
    assert states(session) == {1: "died", 2: "parked", 3: "ready"}


async def test_a_refused_change_rolls_back_to_the_last_working_arm(make, monkeypatch):
    session = make()
    await session.start()
    await session.ready()
    await session.replay()
    await session.finished()
    with pytest.raises(VtuneError) as refusal:
        # The stand-in is told to die with vLLM's own log for this block size.
        monkeypatch.setenv("STANDIN_REFUSE", "block-size")
        session.set_lever("max-num-seqs", "64")
        await session.apply()
        await session.ready()
    assert "16" in refusal.value.what
    assert states(session) == {1: "ready", 2: "failed"}
    picture = session.snapshot()
    lever = next(lever for lever in picture.levers if lever.name == "max-num-seqs")
    assert lever.asked == "128" and lever.pending is None and "64 was refused" in lever.note
    assert any(notice.level == "error" and "16" in notice.what for notice in picture.notices)
    # Nothing recorded is lost, and the session goes on.
    assert len(picture.runs) == 1
    await session.replay()
    assert (await session.finished())["requests"]["ok"] == 6


async def test_a_touched_lever_starts_ahead_and_apply_finds_it_ready(make):
    session = make("engine.head-start=on")
    await session.start()
    await session.ready()
    session.set_lever("max-num-seqs", "64")
    await until(session, lambda s: 2 in s.engines and s.engines[2].applied)
    assert session.state.engine.number == 1 and session.state.pending == {"max-num-seqs": "64"}
    await session.apply()
    await session.ready()
    assert session.state.engine.number == 2 and session.state.engine.start_s < 2
    assert not session.state.pending


@pytest.mark.matrix
async def test_undoing_or_touching_another_lever_ends_the_start_ahead(make):
    session = make("engine.head-start=on", "engine.env.STANDIN_START_S=30")
    session.profile = with_settings(session.profile, ["engine.env.STANDIN_START_S=0.1"])
    await session.start()
    await session.ready()
    session.set_lever("max-num-seqs", "64")
    await until(session, lambda s: 2 in s.engines and s.engines[2].phases)
    session.undo()
    await until(session, lambda s: s.engines[2].state == "stopped")
    assert not members(session.state.engines[2].url)


@pytest.mark.matrix
async def test_nothing_starts_ahead_while_a_replay_runs(make, tmp_path):
    session = make("engine.head-start=on", "engine.env.STANDIN_STEP_MS=20")
    slow = write_recording(tmp_path / "slow.jsonl", requests=30, max_tokens=64)
    session.traffic = traffic_of(session.profile, str(slow))
    await session.start()
    await session.ready()
    await session.replay()
    await until(session, lambda s: s.runs and s.runs[1].finished)
    session.set_lever("max-num-seqs", "64")
    await until(session, lambda s: len(s.runs[1].finished) > 4)
    assert list(session.state.engines) == [1]
    await session.cancel_replay()
    await session.finished()


async def test_close_ends_parked_and_started_ahead_engines(make):
    session = make("engine.head-start=on")
    await session.start()
    await session.ready()
    await serve(session, max_num_seqs="64")
    session.set_lever("max-num-seqs", "32")
    await until(session, lambda s: 3 in s.engines and s.engines[3].phases)
    async with asyncio.timeout(10):
        while not all(of_each := [members(engine.url) for engine in session.state.engines.values()]):
            await asyncio.sleep(0.05)
    pids = [pid for pids in of_each for pid in pids]
    assert len(pids) >= 3
    await session.close()
    assert not [pid for pid in pids if runs(pid)]
