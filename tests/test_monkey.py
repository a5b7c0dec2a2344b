"""A monkey at the keys: whatever it presses, and whatever the size, the screen stands and the journal is whole."""

import asyncio
import json
import random
from contextlib import suppress
from pathlib import Path

import pytest
from textual.errors import NoWidget
from textual.pilot import OutOfBounds

import tui.app
from tui.app import VtuneApp
from tui.engine import profile
from tui.session import journal, state
from tui.session.late import LateSession
from tui.session.traffic import traffic_of

# Everything but the keys that end vtune or stop its process.
KEYS = (
    *"abcdefghijklmnoprstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "space", "enter", "escape", "tab", "shift+tab",
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "backspace", "delete", "slash", "question_mark",
    "left_square_bracket", "right_square_bracket", "ctrl+p", "ctrl+a", "f1", "f5", "minus", "plus", "comma", "at",
)  # fmt: skip
# Keys that do something are pressed more often.
LIKELY = ("space", "a", "r", "x", "c", "d", "y", "R", "E", "t", "u", "b", "e", "m", "l", "1", "6", "enter", "escape")


class Staying(VtuneApp):
    """Leaving, by the palette, is noted and not done."""

    CSS_PATH = Path(tui.app.__file__).with_name("app.tcss")
    left = 0

    async def _leave(self, code: int) -> None:
        self.left += 1


async def play(app: VtuneApp, presses: int, seed: int) -> None:
    dice = random.Random(seed)
    width, height = 120, 36
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.pause()
        for _ in range(presses):
            if dice.random() < 0.05:
                width, height = dice.randint(20, 220), dice.randint(5, 70)
                await pilot.resize_terminal(width, height)
            elif dice.random() < 0.05:
                await pilot.pause()
                with suppress(NoWidget, OutOfBounds):  # of the pilot, for a screen that is not laid out yet
                    at = dice.randrange(width), dice.randrange(height)
                    await pilot.click(offset=at, times=dice.choice((1, 2)))
            else:
                app.simulate_key(dice.choice(LIKELY if dice.random() < 0.5 else KEYS))
                if dice.random() < 0.7:
                    await asyncio.sleep(0)
                else:
                    await pilot.pause()
        await pilot.resize_terminal(120, 36)
        async with asyncio.timeout(20):
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
                await pilot.pause()
        assert app.is_running
        await app._controls.close()


@pytest.mark.parametrize(
    ("presses", "seed"),
    [(200, 1), pytest.param(2_000, 7, marks=[pytest.mark.matrix, pytest.mark.timeout(900)])],
    ids=["short", "long"],
)
async def test_no_key_breaks_the_screen_or_loses_a_line_of_the_journal(
    presses, seed, standin_profile, tmp_path, monkeypatch
) -> None:
    told: list[str] = []
    append = journal.Journal.append

    def noting(self, kind, **values):
        told.append(kind)
        return append(self, kind, **values)

    monkeypatch.setattr(journal.Journal, "append", noting)
    wanted = profile.load(str(standin_profile))
    session = LateSession(wanted, traffic_of(wanted), tmp_path / "session")
    app = Staying(session)
    await play(app, presses, seed)
    assert app._exception is None
    lines = (tmp_path / "session" / journal.NAME).read_bytes().splitlines()
    kept = [json.loads(line) for line in lines]
    assert [event["e"] for event in kept[1:]] == told
    assert "launch" in told and told[-1] == "close"
    assert state.load(tmp_path / "session") == session._session.state
