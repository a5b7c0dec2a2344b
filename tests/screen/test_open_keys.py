"""A kept session in the dashboard: its keys go through time, and none of them starts anything."""

import asyncio
import re
from pathlib import Path

import pytest
from made_kept import kept

from tui.screens.help import HelpScreen
from tui.screens.reopened.app import ReopenedApp
from tui.screens.reopened.place import PlaceScreen
from tui.session import journal
from tui.session.reopen import Player

SIZE = (120, 36)


def text(app: ReopenedApp) -> str:
    """What the screen shows, as text."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


async def opened(pilot) -> Player:
    player = pilot.app._player
    async with asyncio.timeout(20):
        while player.position().loading is not None:
            await pilot.pause(0.02)
    await pilot.pause()
    return player


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return kept(tmp_path_factory.mktemp("kept"))


async def test_it_is_marked_and_opens_at_its_end(folder) -> None:
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        shown = text(app)
        assert "REOPENED 2026-09-21 12:00" in shown and "the session was closed" in shown
        assert "failed to start" in shown and "no memory for the KV cache" in shown
        assert "starts it again" not in shown and "l shows the log" in shown
        assert "★ baseline" in shown


async def test_keys_go_through_time(folder) -> None:
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=SIZE) as pilot:
        player = await opened(pilot)
        begun = player.position().start
        await pilot.press("g")
        assert player.position().at == begun
        await pilot.pause()
        assert "no run yet" in text(app) and "replays the recording" not in text(app)
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert player.position().here.words == "run 1 begins: baseline" and "0/24" in text(app)
        await pilot.press("right", "right")
        await pilot.pause()
        assert "10/24" in text(app) and "n 10" in text(app)
        await pilot.press("left")
        await pilot.pause()
        assert "5/24" in text(app)
        await pilot.press("full_stop")
        assert player.position().here.words == "run 1 ends: done"
        await pilot.press("comma", "comma")
        assert player.position().here.words == "engine 1 is ready"
        await pilot.press("G")
        assert player.position().following
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, PlaceScreen)
        await pilot.press(*"run 1", "enter")
        await pilot.pause()
        assert player.position().here.words == "run 1 begins: baseline" and app.screen is app.dashboard
        await pilot.press("t", *"soon", "enter")
        await pilot.pause()
        assert "'soon' is no place in the session" in text(app)


async def test_space_plays_at_the_speed_that_was_chosen_and_pauses(folder) -> None:
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=SIZE) as pilot:
        player = await opened(pilot)
        await pilot.press("g", *["plus"] * 3, "space")
        before = player.position().at
        assert player.position().speed == 8 and player.position().playing and "▶ 8x" in text(app)
        async with asyncio.timeout(10):
            while player.position().at <= before:
                await pilot.pause(0.05)
        await pilot.press("p")
        held = player.position().at
        await pilot.pause(0.4)
        assert player.position().at == held and not player.position().playing and "‖ 8x" in text(app)


async def test_a_click_on_the_line_of_time_goes_there(folder) -> None:
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=SIZE) as pilot:
        player = await opened(pilot)
        line = text(app).split("\n")[-2]
        first, last = (at.start() for at in (re.search("[─━╌✕●]", line), re.search(r"[─━╌✕●](?!.*[─━╌✕●])", line)))
        await pilot.click("#transport", offset=((first + last) // 2, 1))
        here = player.position()
        assert 0.45 < (here.at - here.start) / (here.end - here.start) < 0.55


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (["r"], "can't replay"), (["a"], "can't apply a change"), (["x"], "can't end a replay"),
        (["R"], "can't start an engine"), (["u"], "can't undo a change"), (["enter"], "can't change a lever"),
        (["E"], "can't end an engine"), (["o"], "can't change the recording"),
    ],
)  # fmt: skip
async def test_a_key_that_would_act_says_why_it_does_not(folder, keys, why) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        assert f"▲ {why}: a kept session is only read" in text(app)
        assert app.screen is app.dashboard
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


async def test_no_key_of_the_bottom_line_acts_on_an_engine(folder) -> None:
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=(200, 60)) as pilot:
        await opened(pilot)
        last = text(app).split("\n")[-1]
        assert last.split()[:2] == ["␣", "play"] and ". event" in last and "e export" in last
        for word in ("replay", "apply", "toggle", "edit", "restart", "record"):
            assert word not in last.split(), word


async def test_export_help_baseline_and_areas_work_and_q_leaves_at_once(folder, tmp_path) -> None:
    copy = kept(tmp_path / "copy")
    app = ReopenedApp(Player(copy))
    async with app.run_test(size=SIZE) as pilot:
        player = await opened(pilot)
        await pilot.press("e")
        async with asyncio.timeout(20):
            while not (copy / "report.md").is_file():
                await pilot.pause(0.05)
        await pilot.pause(0.1)
        assert (copy / "report-ttft.svg").is_file() and "report written" in text(app)
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen) and "to the start of the session" in "".join(
            line.plain for line in app.screen.query_one("HelpText").lines(100)
        )
        await pilot.press("escape", "6", "b")
        await pilot.pause()
        assert player.snapshot().baseline.number == 1
        await pilot.press("right_square_bracket", "g", "full_stop", "full_stop", "full_stop")  # a run is shown going on
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0


async def test_one_that_another_vtune_writes_says_so_and_goes_on(tmp_path) -> None:
    writer = journal.Journal(tmp_path, {"session": "s", "created_at": "2026-09-21T12:00:00+0000"})
    writer.append("profile", name="theirs", levers={}, targets=[])
    app = ReopenedApp(Player(tmp_path))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        assert "LIVE" in text(app) and "● newest" in text(app)
        writer.append("launch", n=1, state="starting", argv=["vllm"], asked={}, log="engine-1.log")
        async with asyncio.timeout(10):
            while "Engine starting" not in text(app):
                await pilot.pause(0.05)
    writer.close()


async def test_one_that_was_broken_off_says_so(tmp_path) -> None:
    app = ReopenedApp(Player(kept(tmp_path, close=False)))
    async with app.run_test(size=(200, 60)) as pilot:
        await opened(pilot)
        assert "broken off here" in text(app)


@pytest.mark.parametrize("size", [(40, 10), (60, 15), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_mark_and_the_time_are_there_on_small_screens(folder, size) -> None:
    app = ReopenedApp(Player(folder))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        assert "REOPENED 2026-09-21" in text(app) and "1:40" in text(app).split("\n")[-2]
