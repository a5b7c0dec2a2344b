"""Every key asks the session for what it says, and asks the person first where it must."""

import asyncio
from dataclasses import replace

import pytest
import scenes
from fake import FakeControls

from tui.app import VtuneApp
from tui.errors import Exit, VtuneError
from tui.screens.confirm import Confirm
from tui.screens.help import HelpScreen
from tui.screens.log import LogScreen
from tui.widgets.header import Header
from tui.widgets.levers import ValueInput
from tui.widgets.notice import NoticeLine

SIZE = (120, 36)


def text(app: VtuneApp) -> str:
    """What the screen shows, as text."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize(
    ("scene", "keys", "call"),
    [
        (scenes.ready(), ["r"], ("replay",)),
        (scenes.ready(), ["R"], ("restart",)),
        (scenes.ready(), ["e"], ("export",)),
        (scenes.ready(), ["space"], ("set_lever", "prefix-caching", "off")),
        (scenes.ready(), ["down", "space"], ("set_lever", "chunked-prefill", "off")),
        (scenes.ready(), ["end", "space"], ("set_lever", "speculative", "ngram:4:2-4")),
        (scenes.pending("prefix-caching"), ["space"], ("set_lever", "prefix-caching", "on")),
        (scenes.pending("prefix-caching"), ["a"], ("apply", "drain")),
        (scenes.pending("prefix-caching"), ["u"], ("undo",)),
        (scenes.compared(), ["6", "up", "b"], ("set_baseline", 2)),
        (scenes.compared(), ["b"], ("set_baseline", 3)),
        (scenes.replaying(), ["x", "c"], ("cancel_replay", "cancel")),
        (scenes.replaying(), ["x", "d"], ("cancel_replay", "drain")),
        (scenes.pending("speculative", run=scenes.live()), ["a", "d"], ("apply", "drain")),
        (scenes.pending("speculative", run=scenes.live()), ["a", "c"], ("apply", "cancel")),
        (scenes.replaying(), ["R", "y"], ("restart",)),
    ],
)
async def test_a_key_calls_the_session(scene, keys, call) -> None:
    controls = FakeControls(scene)
    async with VtuneApp(controls).run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert controls.calls == [("start",), call]


@pytest.mark.parametrize(
    ("scene", "keys"),
    [
        (scenes.pending("speculative", run=scenes.live()), ["a", "s"]),
        (scenes.pending("speculative", run=scenes.live()), ["a", "escape"]),
        (scenes.replaying(), ["x", "enter"]),  # the answer in focus is the one that changes nothing
        (scenes.replaying(), ["R", "n"]),
        (scenes.ready(), ["a"]),
        (scenes.ready(), ["u"]),
        (scenes.ready(), ["x"]),
        (scenes.ready(), ["b"]),
    ],
)
async def test_staying_changes_nothing(scene, keys) -> None:
    controls = FakeControls(scene)
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert controls.calls == [("start",)]
        assert app.screen is app.dashboard


async def test_a_value_is_typed_for_a_lever() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("down", "enter")
        await pilot.pause()
        line = app.screen.query_one(ValueInput)
        assert line.has_focus and line.value == "2048"
        assert "512/256" in text(app)
        await pilot.press(*["backspace"] * 4, "5", "1", "2", "slash", "6", "4", "enter")
        await pilot.pause()
        assert controls.calls[-1] == ("set_lever", "chunked-prefill", "512/64")
        await pilot.press("enter", "9", "escape", "space")
        await pilot.pause()
        assert controls.calls[-1] == ("set_lever", "chunked-prefill", "off")


async def test_a_click_switches_a_lever_or_asks_for_its_value() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.click("#lever-list", offset=(6, 8))
        await pilot.pause()
        assert controls.calls[-1] == ("set_lever", "speculative", "ngram:4:2-4")
        await pilot.click("#lever-list", offset=(6, 4))
        await pilot.pause()
        assert app.screen.query_one(ValueInput).value == "128" and len(controls.calls) == 2


async def test_apply_may_follow_a_toggle_faster_than_a_snapshot() -> None:
    controls = FakeControls(scenes.ready())  # it never tells that anything is pending
    async with VtuneApp(controls).run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("space", "a")
        await pilot.pause()
        assert controls.calls[-2:] == [("set_lever", "prefix-caching", "off"), ("apply", "drain")]


async def test_a_refusal_is_a_line_of_words() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in ("r", "e", "space", "R"):
            controls.refuse = VtuneError(f"no [b]{key}[/b] now", "wait a little", Exit.ENGINE)
            await pilot.press(key)
            await pilot.pause()
            assert f"✕ no [b]{key}[/b] now — wait a little" in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not app.screen.query_one(NoticeLine).display


async def test_quitting_asks_while_a_replay_runs() -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, Confirm)
        await pilot.press("s")
        await pilot.pause()
        assert ("close",) not in controls.calls
        await pilot.press("q", "y")
        await pilot.pause()
    assert controls.calls.count(("close",)) == 1
    assert app.return_code == 0


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_leaving_closes_the_session_once(key: str) -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press(key)
        await pilot.pause()
    assert controls.calls == [("start",), ("close",)]


async def test_a_session_that_cannot_close_still_lets_go() -> None:
    class Stuck(FakeControls):
        async def close(self) -> None:
            raise VtuneError("the engine did not stop", "vtune doctor --end", Exit.ENGINE)

    app = VtuneApp(Stuck(scenes.ready()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == Exit.ENGINE


async def test_pause_stops_drawing_and_nothing_else() -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("p")
        controls.push(scenes.replaying(run=scenes.live(done=25)))
        await pilot.pause()
        assert "18/32" in text(app) and "drawing paused" in text(app)
        await pilot.press("p")
        async with asyncio.timeout(10):  # numbers that only move wait a little for what a key brings
            while "25/32" not in text(app):
                await pilot.pause(0.02)
        assert "paused" not in text(app)


async def test_maximise_shows_one_area_and_back() -> None:
    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("2", "m")
        await pilot.pause()
        assert app.screen.query_one("#kv").display and not app.screen.query_one("#ttft").display
        await pilot.press("3")
        await pilot.pause()
        assert app.screen.query_one("#prefix").display and not app.screen.query_one("#kv").display
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.query_one("#kv").display and app.screen.query_one("#runs").display


async def test_numbers_and_tab_move_between_areas() -> None:
    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        seen = []
        for _ in range(7):
            seen.append(next(name for name in ("ttft", "kv", "prefix", "acceptance", "levers", "runs", "requests")
                             if app.screen.query_one(f"#{name}").display))  # fmt: skip
            await pilot.press("tab")
            await pilot.pause()
        assert seen == ["ttft", "kv", "prefix", "acceptance", "levers", "runs", "requests"]


async def test_log_and_help_open_and_close(tmp_path) -> None:
    log = tmp_path / "engine-1.log"
    log.write_text("first line\n")
    scene = scenes.ready(engine=scenes.engine(log_path=log))
    controls = FakeControls(scene)
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("l")
        await pilot.pause()
        assert isinstance(app.screen, LogScreen) and "first line" in text(app)
        with log.open("a") as file:
            file.write("ERROR 11-29 17:09:57 [x.py:1] second \x1b[31mline\x1b[0m [red]\n")
        controls.push(replace(scene, now=scene.now + 1))
        await pilot.pause()
        assert "second line [red]" in text(app)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen) and "replay the recording" in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.dashboard


async def test_every_offered_key_has_an_id_and_says_what_it_does() -> None:
    app = VtuneApp(FakeControls(scenes.pending("speculative", run=scenes.live())))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        own = [active.binding for active in app.screen.active_bindings.values() if active.node in (app, app.screen)]
        shown = [binding for binding in own if binding.show]
        assert {"replay", "apply", "undo", "cancel", "export", "pause", "log", "help", "quit"} <= {b.id for b in shown}
        assert all(binding.id and binding.tooltip for binding in shown)


async def test_the_palette_offers_what_can_be_done_now() -> None:
    app = VtuneApp(FakeControls(scenes.pending("speculative")))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert (
            "lever: prefix caching off" in titles
            and "lever: apply changes" in titles
            and "run: 2 as baseline" in titles
        )
        assert "replay: end" not in titles
        assert all(": " in title for title in titles)


async def test_ages_come_from_the_snapshot() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "ready 12 m" in app.screen.query_one(Header).render().plain
        controls.push(scenes.ready(now=scenes.NOW + 7200))
        await pilot.pause()
        assert "ready 2 h" in app.screen.query_one(Header).render().plain


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_help_and_quit_are_offered_at_every_size_and_no_key_is_cut(size: tuple[int, int]) -> None:
    app = VtuneApp(FakeControls(scenes.pending("speculative")))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        last = text(app).split("\n")[-1].rstrip()
        assert last.endswith("? help  q quit  ^p palette")
        assert "r replay" in last and len(last) <= size[0]


async def test_a_key_on_the_bottom_line_can_be_clicked() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        at = text(app).split("\n")[-1].index("r replay")
        await pilot.click("#keys", offset=(at, 0))
        await pilot.pause()
        assert ("replay",) in controls.calls


async def test_the_palette_runs_a_command_and_survives_keys_without_a_match() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in ("ctrl+p", "pagedown", "z", "pagedown", "pageup", "down"):  # faster than the list is laid out
            app.simulate_key(key)
        await pilot.pause()
        await pilot.press(*"zzz", "pagedown", "pageup", "down", "escape", "escape")
        await pilot.pause()
        assert app.screen is app.dashboard
        await pilot.press("ctrl+p", *"report")
        await app.workers.wait_for_complete([w for w in app.workers if w.node is app.screen])
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert ("export",) in controls.calls
