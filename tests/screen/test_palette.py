"""The palette: what is typed finds, enter does it; themes are found the same way."""

import scenes
from fake import FakeControls
from test_dashboard_keys import text

from tui.app import VtuneApp
from tui.screens.palette import Palette

SIZE = (120, 36)


async def test_what_acts_on_the_replay_comes_first_and_typing_finds_the_rest() -> None:
    app = VtuneApp(FakeControls(scenes.ready()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p")
        await pilot.pause()
        shown = text(app)
        assert shown.index("replay: start") < shown.index("lever: prefix caching off") and "vtune: quit" not in shown
        await pilot.press(*"quit")
        await pilot.pause()
        shown = text(app)
        assert "vtune: quit" in shown and "replay: start" not in shown
        await pilot.press(*"zz")
        await pilot.pause()
        assert "nothing of that name" in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Palette)


async def test_the_arrows_move_in_the_list_while_a_name_is_typed() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p", *"engine", "down", "down", "up", "enter")
        await pilot.pause()
        assert app.screen is not app.dashboard  # engine: end asks first
        await pilot.press("escape")


async def test_a_command_can_be_clicked() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.click("#choose-list", offset=(4, 0))
        await pilot.pause()
        assert ("replay",) in controls.calls


async def test_where_there_is_no_room_beside_a_name_nothing_stands_there() -> None:
    app = VtuneApp(FakeControls(scenes.ready()))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert "replay: start" in text(app) and "…" not in text(app).split("replay: start")[1]


async def test_a_theme_is_chosen_by_its_name() -> None:
    app = VtuneApp(FakeControls(scenes.ready()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.search_themes()
        await pilot.pause()
        assert "vtune-dark" in text(app) and "in use" in text(app)
        await pilot.press(*"vtune-light", "enter")
        await pilot.pause()
        assert app.theme == "vtune-light"
