"""The engine's log: followed, searched, filtered, its errors marked, and shown as text whatever is in it."""

from pathlib import Path

import pytest
import scenes
from fake import FakeControls

from tui.app import VtuneApp
from tui.widgets.log_lines import LogLines
from tui.widgets.log_view import LogView

SIZE = (100, 20)
LINES = [
    *(f"(APIServer pid=7) INFO 11-29 17:09:{n % 60:02} [x.py:{n}] step {n}" for n in range(200)),
    "(EngineCore pid=9) WARNING 11-29 17:10:00 [y.py:1] max_num_batched_tokens is small",
    "(EngineCore pid=9) ERROR 11-29 17:10:01 [y.py:2] EngineCore failed to start: Out of Memory",
    "    torch.cuda.OutOfMemoryError: step 7",
    *(f"INFO 11-29 17:11:{n % 60:02} [x.py:{n}] later {n}" for n in range(100)),
]


def text(app: VtuneApp) -> str:
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "engine-2.log"
    path.write_text("\n".join(LINES) + "\n")
    (tmp_path / "engine-1.log").write_text("the engine before\n")
    return path


def scene(log: Path, **changes):
    return scenes.ready(engine=scenes.engine(log_path=log), folder=log.parent, **changes)


async def test_it_follows_its_end_until_it_is_scrolled_away(log: Path) -> None:
    controls = FakeControls(scene(log))
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        assert "later 99" in text(app) and "following" in text(app) and "● ready 12 m" in text(app)
        with log.open("a") as file:
            file.write("one more\n")
        controls.push(scene(log, now=scenes.NOW + 1))
        await pilot.pause()
        assert "one more" in text(app)
        await pilot.press("pageup")
        await pilot.pause()
        with log.open("a") as file:
            file.write("and another\n")
        controls.push(scene(log, now=scenes.NOW + 2))
        await pilot.pause()
        assert "and another" not in text(app) and "not following" in text(app)
        await pilot.press("G")
        await pilot.pause()
        assert "and another" in text(app)


async def test_a_text_is_found_in_any_case_and_stepped_through(log: Path) -> None:
    app = VtuneApp(FakeControls(scene(log)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "slash", *"STEP", "enter")
        await pilot.pause()
        # The last match first: what went wrong last is what is looked for.
        assert "match 201 of 201 for step" in text(app) and "OutOfMemoryError: step 7" in text(app)
        await pilot.press("n")
        await pilot.pause()
        assert "match 1 of 201" in text(app) and "[x.py:0] step 0" in text(app)
        await pilot.press("N", "N")
        await pilot.pause()
        assert "match 200 of 201" in text(app) and "step 199" in text(app)
        await pilot.press("y")
        await pilot.pause()
        assert app.clipboard == LINES[199]
        await pilot.press("slash", *["backspace"] * 4, *"nowhere", "enter", "n")
        await pilot.pause()
        assert "no match for nowhere" in text(app)


async def test_only_warnings_and_errors_are_shown_when_asked(log: Path) -> None:
    app = VtuneApp(FakeControls(scene(log)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "f")
        await pilot.pause()
        shown = text(app)
        assert "▲ (EngineCore" in shown and "✕ (EngineCore" in shown and "step 199" not in shown
        assert "warnings and errors only" in shown and "2 error lines" in shown
        await pilot.press("f")
        await pilot.pause()
        # What is indented under an error belongs to it.
        assert "▲" not in text(app) and "OutOfMemoryError" in text(app)
        await pilot.press("f")
        await pilot.pause()
        assert "later 99" in text(app)


async def test_the_log_of_the_engine_before_can_be_read(log: Path) -> None:
    controls = FakeControls(scene(log))
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        await pilot.press("left_square_bracket")
        await pilot.pause()
        assert "the engine before" in text(app) and "engine-1.log" in text(app)
        controls.push(scene(log, now=scenes.NOW + 1))
        await pilot.pause()
        assert "the engine before" in text(app)
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert "later 99" in text(app)


def test_old_lines_go_and_the_match_in_hand_stays_where_it_is() -> None:
    lines = LogLines(most=10)
    lines.add(f"line {n}" for n in range(10))
    lines.seek("line 9")
    lines.add(["line 10", "line 11"])
    assert [line.text for line in lines.shown][0] == "line 2" and len(lines) == 10
    assert lines.line is not None and lines.shown[lines.line].text == "line 9"
    lines.show_only("errors")
    assert lines.line is None and not lines.shown


def test_a_log_of_20_000_lines_is_taken_at_once() -> None:
    lines = LogLines()
    lines.add(f"(EngineCore pid=9) INFO 11-29 17:10:00 [y.py:1] step {n}" for n in range(30_000))
    lines.seek("step 29999")
    assert len(lines) == 20_000 and lines.found == [19_999]


async def test_a_wide_line_is_read_by_scrolling_and_found_off_screen(log: Path) -> None:
    with log.open("a") as file:
        file.write("x" * 1_500 + "needle" + "y" * 9_000 + "\n")
    app = VtuneApp(FakeControls(scene(log)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        await pilot.press("slash", *"needle", "enter")
        await pilot.pause()
        assert "needle" in text(app)
        assert app.screen.query_one(LogView).scroll_offset.x > 1_000


async def test_a_log_that_lost_its_middle_says_so_and_shows_no_line_twice(log: Path) -> None:
    controls = FakeControls(scene(log))
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        kept = LINES[:10] + ["--- vtune left out 1,234 lines (99,000 bytes) here"] + LINES[-5:]
        log.write_text("\n".join(kept) + "\n")
        controls.push(scene(log, now=scenes.NOW + 1))
        await pilot.pause()
        assert "1,234 lines of its middle dropped" in text(app) and "--- vtune left out" in text(app)
        assert len(app.screen.query_one(LogView).log_lines) == len(kept)
