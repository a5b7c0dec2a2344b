"""What lies behind a window: the screen's text, as it stands."""

from dataclasses import replace

import pytest
import scenes
from fake import FakeControls

from tui.app import VtuneApp
from tui.screens.backdrop import _lines

WIDE = "推論🚀の最適化"


@pytest.mark.parametrize("size", [(160, 48), (80, 24), (40, 10)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_is_the_text_of_the_screen_cell_by_cell(size) -> None:
    runs = tuple(replace(run, label=f"{WIDE} {run.number}") for run in scenes.runs(3))
    app = VtuneApp(FakeControls(scenes.replaying(runs=runs, profile=WIDE)))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = [strip.text for strip in app.screen._compositor.render_strips()]
        assert _lines(app.screen) == shown
        assert size == (40, 10) or any(WIDE[:2] in line for line in shown)  # there is no room for a name there
        await pilot.press("question_mark")
        await pilot.pause()
        assert _lines(app.dashboard)[-1].rstrip().endswith("palette")


async def test_it_stands_when_the_terminal_shrinks_under_a_window() -> None:
    app = VtuneApp(FakeControls(scenes.replaying()))
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        await pilot.press("question_mark")
        for size in ((80, 24), (30, 6), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            app.simulate_key("x")
        lines = _lines(app.dashboard)
        assert len(lines) == 60 and {len(line) for line in lines} == {200}
