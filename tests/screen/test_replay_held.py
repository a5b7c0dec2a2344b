"""A replay that is paused or idle, as the screen tells it."""

from dataclasses import replace

import scenes
from fake import FakeControls
from test_dashboard_views import shown

from tui.app import VtuneApp


async def test_a_gap_says_how_long_it_still_is() -> None:
    run = replace(scenes.live(), running=0, waiting=0, in_flight=(), idle_until=scenes.NOW + 75)
    screen = await shown(scenes.replaying(run=run), (160, 48))
    assert "idle, next request in 1:15" in screen


async def test_a_paused_replay_says_so_and_goes_on_by_the_same_hand() -> None:
    run = replace(scenes.live(), state="paused")
    assert "paused" in (await shown(scenes.replaying(run=run), (160, 48))).splitlines()[0]
    for state, asked in (("running", True), ("paused", False)):
        controls = FakeControls(scenes.replaying(run=replace(scenes.live(), state=state)))
        app = VtuneApp(controls)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            app.screen.action_hands("hold")
            await app.workers.wait_for_complete([w for w in app.workers if w.group == "hands"])
            await pilot.pause()
        assert ("hold_replay", asked) in controls.calls
