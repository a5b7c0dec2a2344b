"""The session joins engine, replay and scrapes: on the stand-in, started and ended as a real engine is."""

import asyncio
import json
import os
import stat

import pytest
from made import members, runs, write_recording
from standin.fixture import serving

from tui.engine import profile as profiles
from tui.engine.profile_set import with_settings
from tui.errors import Exit, VtuneError
from tui.session import attach, state, views
from tui.session.session import Session
from tui.session.traffic import traffic_of
from tui.session.views import ETA_FROM


@pytest.fixture
async def make(standin_profile, tmp_path):
    """Makes sessions on the stand-in profile and closes them."""
    made = []

    def session(*settings: str, attach_to: str | None = None, **traffic: object) -> Session:
        profile = with_settings(profiles.load(str(standin_profile)), settings)
        wanted = traffic_of(profile, **traffic)
        if attach_to:
            profile = attach.profile(attach_to)
        made.append(Session(profile, wanted, tmp_path / f"session-{len(made)}", attach=attach_to))
        return made[-1]

    yield session
    for one in made:
        await one.close()


async def measured(session: Session) -> dict:
    """Start if needed, replay, and return the result."""
    await session.ready()
    await session.replay()
    return await session.finished()


async def until(session: Session, wanted, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not wanted(session.state):
            await session._changed.wait()
            await asyncio.sleep(0)


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if runs(pid)]


async def test_the_main_job_start_replay_toggle_replay_export(make):
    session = make()
    await session.start()
    first = await measured(session)
    assert first["requests"]["ok"] == 6 and first["label"] == "baseline"
    assert first["cache_reset"] == "done" and first["prefix_cache"]["state"] == "on"
    assert first["ttft_s"]["cold"]["n"] + first["ttft_s"]["partial"]["n"] >= 1 and first["ttft_s"]["warm"]["n"] >= 1
    assert abs(first["prefix_cache"]["hit_rate"] - first["prefix_cache"]["client_hit_rate"]) < 0.01

    session.set_lever("prefix-caching", "off")
    assert [lever.pending for lever in session.snapshot().pending] == ["off"]
    await session.apply()
    second = await measured(session)
    assert second["label"] == "prefix-caching off"
    assert second["prefix_cache"]["state"] == "off" and second["prefix_cache"]["hit_rate"] is None
    assert second["engine"]["applied"]["prefix-caching"] == "off" and not second["engine"]["mismatches"]
    assert session.state.pending == {}

    picture = session.snapshot()
    assert [row.baseline for row in picture.runs] == [True, False]
    assert picture.runs[1].ratios["ttft_s.warm.p50"] > 1
    report = await session.export()
    text = report.read_text()
    assert "prefix-caching off" in text and "vtune replay" in text


async def test_what_the_file_tells_is_what_was_live(make):
    session = make()
    await session.start()
    await measured(session)
    await session.close()
    told = state.load(session.folder)
    assert told == session.state
    now = 1e10
    assert views.snapshot(told, session.folder, now, None) == views.snapshot(session.state, session.folder, now, None)


async def test_setting_a_lever_back_leaves_nothing_to_apply(make):
    session = make()
    await session.start()
    await session.ready()
    session.set_lever("prefix-caching", "off")
    session.set_lever("prefix-caching", "on")
    assert not session.state.pending
    with pytest.raises(VtuneError, match="no lever was changed"):
        await session.apply()
    session.set_lever("max-num-seqs", "64")
    session.undo()
    assert not session.state.pending


async def test_what_is_asked_for_is_seen_at_once(make):
    session, seen = make(), []
    session.subscribe(seen.append)
    session.set_lever("prefix-caching", "off")
    assert [lever.name for lever in seen[-1].pending] == ["prefix-caching"]
    session.undo()
    assert not seen[-1].pending


async def test_a_replay_that_is_cancelled_has_no_time_left(make, tmp_path):
    session, seen = await replaying(make, tmp_path), []
    session.subscribe(seen.append)
    await until(session, lambda state: len(state.runs[1].finished) >= ETA_FROM)
    assert session.snapshot().run.eta_s is not None
    await session.cancel_replay()
    assert seen[-1].run.state == "ending" and seen[-1].run.eta_s is None
    await session.finished()


async def test_a_bad_lever_value_is_refused_in_two_lines(make):
    session = make()
    with pytest.raises(VtuneError) as refusal:
        session.set_lever("chunked-prefill", "lots")
    assert "lots" in refusal.value.what and refusal.value.mend
    with pytest.raises(VtuneError, match="no lever"):
        session.set_lever("turbo", "on")


async def test_an_engine_that_does_not_start_tells_its_root_cause(make):
    session = make('engine.env.STANDIN_REFUSE=block-size')
    await session.start()
    with pytest.raises(VtuneError) as failure:
        await session.ready()
    assert failure.value.code is Exit.ENGINE
    engine = session.snapshot().engine
    assert engine.state == "failed" and engine.failure is not None
    assert engine.failure.what == failure.value.what and engine.failure.mend
    with pytest.raises(VtuneError, match="not ready"):
        await session.replay()


async def replaying(make, tmp_path) -> Session:
    """A session whose replay of 40 requests goes on for a while, and has had an answer."""
    slow = write_recording(tmp_path / "slow.jsonl", requests=40, max_tokens=64)
    session = make("engine.env.STANDIN_STEP_MS=20", recording_ref=str(slow))
    await session.start()
    await session.ready()
    await session.replay()
    await until(session, lambda s: s.runs and any(f.status == "ok" for f in s.runs[1].finished))
    return session


async def test_applying_while_a_replay_runs_cancels_it_and_keeps_what_came(make, tmp_path):
    session = await replaying(make, tmp_path)
    session.set_lever("max-num-seqs", "64")
    await session.apply("cancel")
    await session.ready()
    run = session.state.runs[1]
    assert run.state == "cancelled" and run.result["requests"]["cancelled"] >= 1
    assert run.result["requests"]["ok"] >= 1
    assert session.state.engine.asked["max-num-seqs"] == "64"


async def test_an_engine_that_dies_in_a_run_ends_the_run_and_is_told(make, tmp_path):
    session = await replaying(make, tmp_path)
    os.kill(session.host.engine.pids()[0], 9)
    result = await session.finished()
    assert result["requests"]["ok"] >= 1 and result["requests"]["ok"] < 40
    await until(session, lambda s: s.engine.state == "died")
    assert session.state.engine.failure[0]


async def test_close_leaves_no_process_and_can_be_called_twice(make):
    session = make()
    await session.start()
    await session.ready()
    pids = session.host.engine.pids()
    assert alive(pids)
    await session.close()
    await session.close()
    assert not alive(pids)


async def test_close_during_a_start_ends_it(make):
    session = make("engine.env.STANDIN_STUCK=start")
    await session.start()
    await until(session, lambda s: s.engine is not None and s.engine.phases)
    async with asyncio.timeout(10):
        while not (pids := members(session.state.engine.url)):
            await asyncio.sleep(0.05)
    await session.close()
    assert not alive(pids)


async def test_an_attached_engine_is_replayed_and_not_changed(make):
    async with serving("--enable-prefix-caching") as standin:
        session = make(attach_to=standin.url)
        await session.start()
        result = await measured(session)
        assert result["requests"]["ok"] == 6 and result["engine"]["start_kind"] == "attached"
        with pytest.raises(VtuneError, match="does not own"):
            session.set_lever("prefix-caching", "off")
        await session.close()
        assert standin.server is not None  # it still serves: the context closes it


async def test_without_development_mode_a_salt_makes_the_cold_name_space(make):
    session = make("engine.dev-mode=off")
    await session.start()
    first = await measured(session)
    again = await measured(session)
    assert first["cache_reset"] == again["cache_reset"] == "salted"
    # Without the salt the second run would find everything in the cache.
    assert again["ttft_s"]["cold"]["n"] + again["ttft_s"]["partial"]["n"] >= 1


async def test_files_of_a_session_are_for_its_owner_alone(make):
    session = make()
    await session.start()
    await measured(session)
    await session.export()
    await session.close()
    for path in session.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert stat.S_IMODE(session.folder.stat().st_mode) == 0o700


async def test_no_text_keeps_hashes_only(make):
    session = make(keep_text=False)
    await session.start()
    await measured(session)
    rows = [json.loads(line) for line in (session.folder / "run-1.jsonl").read_text().splitlines()]
    answers = [row for row in rows if row.get("status") == "ok"]
    assert answers and all("text" not in row and row["text_sha256"] for row in answers)


@pytest.mark.parametrize("setting", ["engine.env.HF_TOKEN=hf_abcdefghijkl", "raw.api-key=sk-qrstuvwxyz"])
async def test_a_secret_in_a_profile_is_refused(make, setting):
    with pytest.raises(VtuneError) as refusal:
        make(setting)
    assert "abcdefg" not in refusal.value.what + refusal.value.mend
    assert "qrstuvw" not in refusal.value.what + refusal.value.mend


async def test_an_api_key_is_sent_and_not_stored(make, monkeypatch):
    monkeypatch.setenv("VTUNE_API_KEY", "sk-qrstuvwxyz")
    async with serving("--enable-prefix-caching") as standin:
        session = make(attach_to=standin.url)
        await session.start()
        assert (await measured(session))["requests"]["ok"] == 6
        await session.close()
    assert all("sk-qrstuvwxyz" not in path.read_text() for path in session.folder.iterdir())


async def test_an_engine_that_hangs_is_told_and_not_ended(make, tmp_path, monkeypatch):
    monkeypatch.setattr("tui.session.stall.LEAST_S", 1.0)
    monkeypatch.setattr("tui.session.stall.TIMES", 1.0)
    hanging = write_recording(tmp_path / "hanging.jsonl", requests=2, standin={"hang_after": 2})
    session = make(recording_ref=str(hanging))
    await session.start()
    await session.ready()
    await session.replay()
    await until(session, lambda s: any("no progress" in notice["what"] for notice in s.notices))
    assert session.state.engine.state == "ready" and alive(session.host.engine.pids())
    await session.cancel_replay()
    assert (await session.finished())["requests"]["cancelled"] == 2
