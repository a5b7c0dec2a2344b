"""The line under the runs: what to try next, at every size, and no line where there is nothing to say."""

import pytest
import scenes
from fake import FakeControls
from test_dashboard_keys import text

from tui.app import VtuneApp

NEXT = (
    "chunked-prefill=2048/512: 9 short requests had a TTFT of 4.00 s behind prefills of up to 3,000 tokens, "
    "0.30 s without one\x1b[31m"
)


@pytest.mark.parametrize(("size", "keys"), [((160, 48), ()), ((120, 36), ()), ((80, 24), ("6",))])
async def test_it_is_told_under_the_runs_with_its_figure_and_goes_again(size, keys):
    controls = FakeControls(scenes.compared(next_step=NEXT))
    app = VtuneApp(controls)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        said = text(app)
        assert "next  chunked-prefill=2048/512: 9 short requests had a TTFT of 4.00 s" in said
        assert "\x1b" not in said and "TPOT p50" in said  # the ratios have not been pushed out
        controls.push(scenes.compared(next_step=None))
        await pilot.pause()
        assert "next  chunked" not in text(app)
