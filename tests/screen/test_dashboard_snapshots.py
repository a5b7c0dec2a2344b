"""Pictures of the states that matter; the clock is the snapshot's, so they are the same every time."""

from importlib.metadata import version

import pytest
import scenes
from fake import FakeControls

from tui.app import VtuneApp

pytestmark = pytest.mark.skipif(
    not version("textual").startswith("8.2."),
    reason="the pictures were taken with Textual 8.2, others draw borders otherwise",
)

PICTURES = {
    "starting_120x36": (scenes.starting(), (120, 36), []),
    "replaying_120x36": (scenes.replaying(), (120, 36), []),
    "replaying_80x24": (scenes.replaying(), (80, 24), []),
    "compared_200x60": (scenes.compared(), (200, 60), []),
    "pending_80x24": (scenes.pending("prefix-caching", "speculative"), (80, 24), ["5"]),
    "failed_120x36": (scenes.failed(), (120, 36), []),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name: str, snap_compare) -> None:
    scene, size, keys = PICTURES[name]
    assert snap_compare(VtuneApp(FakeControls(scene)), terminal_size=size, press=keys)
