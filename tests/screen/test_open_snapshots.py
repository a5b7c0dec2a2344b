"""Pictures of a kept session; its clock is its own, so they are the same every time."""

from importlib.metadata import version

import pytest
from made_kept import kept

from tui.screens.reopened.app import ReopenedApp
from tui.session.reopen import Player

pytestmark = pytest.mark.skipif(
    not version("textual").startswith("8.2."),
    reason="the pictures were taken with Textual 8.2, others draw borders otherwise",
)

PICTURES = {
    "within_a_run_120x36": ((120, 36), ["t", *"run 1", "enter", "right", "right", "right"]),
    "refusing_80x24": ((80, 24), ["t", *"50%", "enter", "r"]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name: str, snap_compare, tmp_path) -> None:
    size, keys = PICTURES[name]

    async def read(pilot) -> None:
        while pilot.app._player.position().loading is not None:
            await pilot.pause(0.02)
        await pilot.press(*keys)
        await pilot.pause()

    assert snap_compare(ReopenedApp(Player(kept(tmp_path / "s"))), terminal_size=size, run_before=read)
