"""A kept session at any moment of it is what the fold of its events so far gives; nothing in it is written."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta, timezone

import made_session
import pytest
from made_session import LEVERS, Folder

from tui.errors import VtuneError
from tui.session import journal, report
from tui.session.reopen import Player, checkpoints, places
from tui.session.reopen.reel import Reel
from tui.session.state import State, fold


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_session.whole(tmp_path_factory.mktemp("kept"))


def wound(folder) -> Reel:
    reel = Reel(folder)
    while reel.read_on():
        pass
    return reel


async def opened(folder) -> Player:
    player = Player(folder)
    await player.start()
    await until(lambda: player.position().loading is None)
    return player


async def until(wanted, seconds=10.0):
    async with asyncio.timeout(seconds):
        while not wanted():
            await asyncio.sleep(0.01)


def test_every_moment_is_the_fold_of_what_had_happened_whatever_way_it_is_reached(folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "EVERY", 7)
    reel = wound(folder)
    header, events = journal.read(folder)
    events = list(events)
    there = len(events)
    for number in [there, 0, *range(0, there, 2), *range(there - 1, -1, -3), 3, 40, 11, there]:
        reel.go(number)
        assert reel.state == fold(header, events[:number]), number


def test_what_was_shown_once_does_not_change_what_is_shown_later(folder):
    """A state that is drawn while the fold goes on in another must share nothing that changes."""
    reel = wound(folder)
    reel.go(20)
    before = reel.state
    said = repr(before)
    reel.go(len(reel.tape))
    assert repr(before) == said


def test_a_journal_cut_at_any_byte_opens(folder, tmp_path):
    data = (folder / journal.NAME).read_bytes()
    first = data.index(b"\n") + 1
    for end in [*range(first, len(data), 1931), *range(len(data) - 60, len(data) + 1)]:
        (tmp_path / journal.NAME).write_bytes(data[:end])
        reel = wound(tmp_path)
        assert len(reel.tape) == data[first:end].count(b"\n")
        reel.go(len(reel.tape))
        assert reel.state.header["session"] == "20260921-120000"


def test_events_that_make_no_sense_are_passed_over_and_counted(folder, tmp_path):
    lines = (folder / journal.NAME).read_text().splitlines()
    odd = ['{"e":"tick","t":"noon","n":99}', '{"e":"engine"}', '{"e":"notice","t":1}', "[1]"]
    (tmp_path / journal.NAME).write_text("\n".join([*lines[:20], *odd, *lines[20:]]) + "\n")
    reel = wound(tmp_path)
    assert reel.unread == 3 and len(reel.tape) == 22  # a line that is no object ends the reading
    times = [reel.tape.time(i) for i in range(len(reel.tape))]
    assert times == sorted(times)


def test_landmarks_are_what_a_person_looks_for(folder):
    words = [one.words for one in wound(folder).landmarks]
    assert words[:4] == ["engine 1 starts", "engine 1 is ready", "run 1 begins: baseline", "run 1 ends: done"]
    assert words[-1] == "the session was closed" and "run 2 begins: prefix-caching on" in words


async def test_it_opens_at_its_end_and_goes_where_it_is_told(folder):
    player = await opened(folder)
    try:
        there = player.position()
        assert there.at == there.end and there.following and there.closed and not there.live
        assert [run.number for run in player.snapshot().runs] == [1, 2, 3]
        player.to("run 2")
        picture = player.snapshot()
        assert picture.run is not None and picture.run.number == 2 and [run.number for run in picture.runs] == [1]
        assert picture.now == player.position().at
        player.step(1)
        assert player.position().here.words == "run 2 ends: done"
        player.step(-1)
        assert player.position().here.words == "run 2 begins: prefix-caching on"
        player.step(-1, runs=True)
        assert player.position().here.words == "run 1 begins: baseline"
        player.to("0:31")
        assert player.position().at - there.start == 31.0
        assert player.position().clock == datetime.fromtimestamp(player.position().at, UTC).strftime("%H:%M:%S")
        player.to("50%")
        assert player.position().at == pytest.approx((there.start + there.end) / 2)
        player.by(-1e6)
        assert player.position().at == there.start and player.snapshot().engine.state == "none"
        with pytest.raises(VtuneError, match="no earlier event"):
            player.step(-1)
        player.seek(1e12)
        assert player.position().following
    finally:
        await player.close()


async def test_it_plays_at_its_speed_and_stops_at_the_end(folder):
    player = await opened(folder)
    try:
        for _ in range(20):
            player.faster(1)
        assert player.position().speed == 128
        player.play()
        begun = time.monotonic()
        assert player.position().playing and player.position().at == player.position().start
        await until(lambda: not player.position().playing)
        took, length = time.monotonic() - begun, player.position().end - player.position().start
        assert length / 128 - 0.3 < took < length / 128 + 5 and player.position().following
    finally:
        await player.close()


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("90", 90), ("90 s", 90), ("1:30", 90), ("0:01:30", 90), ("25 %", 100), ("200%", 400), ("9:00:00", 400)],
)
def test_places_in_words(words, seconds):
    assert places.find(words, 1000.0, 1400.0, [], UTC) == 1000 + seconds


def test_a_time_of_day_is_found_over_midnight():
    east = timezone(timedelta(hours=5, minutes=30))
    start = datetime(2026, 9, 21, 23, 50, tzinfo=east).timestamp()
    assert places.find("@23:55", start, start + 3600, [], east) == start + 300
    assert places.find("@0:10:30", start, start + 3600, [], east) == start + 1230
    with pytest.raises(VtuneError, match="over before"):
        places.find("@12:00", start, start + 3600, [], east)


@pytest.mark.parametrize("words", ["", "soon", "run x", "run 9", "@25:00", "-5"])
def test_what_is_no_place_is_refused_with_what_would_be(words):
    with pytest.raises(VtuneError) as refusal:
        places.find(words, 0.0, 10.0, [], UTC)
    assert "run 2" in refusal.value.mend


async def test_it_starts_and_changes_nothing_and_says_why(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    player = await opened(folder)
    try:
        for act in (player.apply, player.replay, player.cancel_replay, player.restart, player.end_engine,
                    player.stop_recording, lambda: player.record(0), lambda: player.use_recording("x")):  # fmt: skip
            with pytest.raises(VtuneError, match="a kept session is only read"):
                await act()
        for act in (player.undo, lambda: player.set_lever("kv-dtype", "fp8")):
            with pytest.raises(VtuneError, match="only read"):
                act()
        player.set_baseline(2)
        picture = player.snapshot()
        assert picture.baseline.number == 2 and picture.runs[0].ratios["throughput.output_tokens_per_s"] < 1
        player.to("run 1")
        assert player.snapshot().baseline is None
    finally:
        await player.close()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


async def test_its_report_is_that_of_the_whole_session_wherever_one_looks(folder, tmp_path):
    import shutil

    copy = shutil.copytree(folder, tmp_path / "copy")
    player = await opened(copy)
    try:
        player.to("run 1")
        path = await player.export()
    finally:
        await player.close()
    assert path == copy / "report.md" and path.read_text().startswith("# vtune report: session 20260921-120000")
    assert "### Engine 3" in path.read_text() and report.render(copy).count("## Run ") == 3


async def test_a_session_that_another_vtune_writes_is_followed_to_its_close(tmp_path):
    writer = journal.Journal(tmp_path, {"session": "s", "created_at": "2026-09-21T12:00:00+0000"})
    writer.append("profile", name="demo", levers=LEVERS, targets=[])
    player = await opened(tmp_path)
    try:
        assert player.position().live and player.position().following
        assert player.position().end >= time.time() - 1
        writer.append("launch", n=1, state="starting", argv=["vllm"], asked=LEVERS, log="engine-1.log")
        await until(lambda: player.snapshot().engine.state == "starting")
        player.seek(player.position().start)
        writer.append("engine", n=1, state="ready")
        await until(lambda: any("is ready" in one.words for one in player._reel.landmarks))
        assert player.snapshot().engine.state == "none", "who looks at another moment is not pulled away"
        player.to_share(1.0)
        assert player.snapshot().engine.state == "ready"
        writer.append("close")
        writer.close()
        await until(lambda: not player.position().live and player.position().at == player.position().end)
        assert player.position().closed
    finally:
        await player.close()


def test_a_log_is_only_looked_for_in_the_sessions_folder(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.event("launch", n=1, argv=["vllm"], asked=LEVERS, log="../../secret")
    reel = wound(folder.path)
    reel.go(len(reel.tape))
    from tui.session import views

    assert views.snapshot(reel.state, folder.path, 0.0, None).engine.log_path == folder.path / "secret"


def test_a_long_session_opens_and_seeks_quickly(tmp_path):
    """An hour of ticks and scrapes, cut to a fifth."""
    tick = {"at_s": 1.0, "total": 9, "sent": 1, "ok": 1, "failed": 0, "cancelled": 0, "running": 0, "waiting": 1,
            "content_chunks": 3, "output_tokens": 3, "max_lag_s": 0.001, "dropped": 0, "finished": [],
            "in_flight": []}  # fmt: skip
    folder = Folder(tmp_path / "s")
    folder.engine(1, LEVERS, LEVERS, [])
    folder.run(1, 1, "baseline")
    t = folder.event("notice", level="info", what="x")
    with (folder.path / journal.NAME).open("a") as file:
        for i in range(2_000):
            file.write(json.dumps({"e": "tick", "t": t + i / 4, "n": 1, "tick": tick}) + "\n")
            change = {"t": t + i / 4, "engines": {"0": {"prompt_tokens": i, "kv_usage": i % 100 / 100}}}
            file.write(json.dumps({"e": "scrape", "t": t + i / 4, "n": 1, "d": change}) + "\n")
    cpu = time.process_time()
    reel = wound(folder.path)
    opened_s = time.process_time() - cpu
    cpu = time.process_time()
    for number in range(1, 4_000, 199):
        reel.go(4_000 - number)
    assert opened_s < 4 and (time.process_time() - cpu) / 21 < 0.5
    assert isinstance(reel.state, State)
