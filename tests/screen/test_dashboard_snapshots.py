"""Pictures of the states that matter; the clock is the snapshot's, so they are the same every time."""

import time
from importlib.metadata import version

import pytest
import scenes
from fake import FakeControls
from made_kept import kept

from tui.app import VtuneApp
from tui.screens.reopened.app import ReopenedApp
from tui.session.reopen import Player

pytestmark = pytest.mark.skipif(
    not version("textual").startswith("8.2."),
    reason="the pictures were taken with Textual 8.2, others draw borders otherwise",
)

PICTURES = {
    "starting_120x36": (scenes.starting(), (120, 36), []),
    "starting_80x24": (scenes.starting(), (80, 24), []),
    "ready_120x36": (scenes.ready(), (120, 36), []),
    "ready_40x10": (scenes.ready(), (40, 10), []),
    "replaying_200x60": (scenes.replaying(), (200, 60), []),
    "replaying_120x36": (scenes.replaying(), (120, 36), []),
    "replaying_80x24": (scenes.replaying(), (80, 24), []),
    "replaying_40x10": (scenes.replaying(), (40, 10), []),
    "requests_80x24": (scenes.replaying(), (80, 24), ["7"]),
    "compared_200x60": (scenes.compared(), (200, 60), []),
    "compared_80x24": (scenes.compared(), (80, 24), ["6"]),
    "pending_80x24": (scenes.pending("prefix-caching", "speculative"), (80, 24), ["5"]),
    "failed_120x36": (scenes.failed(), (120, 36), []),
    "died_80x24": (scenes.died(), (80, 24), []),
    "attached_120x36": (scenes.attached(), (120, 36), []),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name: str, snap_compare) -> None:
    scene, size, keys = PICTURES[name]
    assert snap_compare(VtuneApp(FakeControls(scene)), terminal_size=size, press=keys)


@pytest.fixture
def greenwich(monkeypatch):
    """Sessions are told in local time."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("size", [(120, 36), (80, 24)], ids=["120x36", "80x24"])
def test_picture_of_a_reopened_session(size, tmp_path, greenwich, snap_compare) -> None:
    player = Player(kept(tmp_path / "20260921-120000"))

    async def opened(pilot) -> None:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    assert snap_compare(ReopenedApp(player), terminal_size=size, run_before=opened)
