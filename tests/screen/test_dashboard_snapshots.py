"""Pictures of the states that matter; the clock is the snapshot's, so they are the same every time.

Those of a reopened session are in test_open_snapshots.
"""

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
