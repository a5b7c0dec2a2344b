"""What moves has a meaning: phases with their estimate, time left, ages, and a mark where a lever changed."""

from dataclasses import replace

import scenes
from fake import FakeControls

from tui.app import VtuneApp
from tui.session.state import EngineRecord, RunRecord, State
from tui.session.views import _marks
from tui.widgets.timeline import Timeline

SIZE = (160, 44)


def text(app: VtuneApp) -> str:
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def test_a_lever_changed_before_a_run_or_after_it_is_marked_at_its_edge() -> None:
    points = tuple((100.0 + second, 0.5) for second in range(61))
    line = Timeline.of(points, ((40.0, "kv-dtype fp8"), (130.0, "in it"), (400.0, "after it")))
    assert line is not None and line.frame(1.0, (), 80).uprights == (0.0, 30.0, 60.0)


def test_only_changes_since_the_run_before_are_marked() -> None:
    state = State(engines={1: EngineRecord(1, "ready", 0, 0)}, marks=[(10.0, "a"), (50.0, "b"), (90.0, "c")])
    state.runs = {n: RunRecord(n, 1, "", at, "done", 1, {}, {}, "") for n, at in ((1, 20.0), (2, 60.0))}
    assert [words for _, words in _marks(state, state.runs[1])] == ["a", "b", "c"]
    assert [words for _, words in _marks(state, state.runs[2])] == ["b", "c"]
    assert [words for _, words in _marks(state, None)] == ["a", "b", "c"]


async def test_the_change_is_named_where_it_is_marked() -> None:
    seen = replace(scenes.metrics(speculation=True), lever_marks=((scenes.NOW - 90, "prefix-caching on"),))
    app = VtuneApp(FakeControls(scenes.compared(metrics=seen)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        shown = text(app)
        assert "┊ prefix-caching on" in shown
        assert sum(row.count("┊") for row in shown.split("\n")) > 10


async def test_metrics_that_are_old_say_how_old_at_every_size() -> None:
    for size in ((160, 44), (80, 24), (40, 10)):
        stale = replace(scenes.metrics(), age_s=12.0)
        app = VtuneApp(FakeControls(scenes.replaying(metrics=stale)))
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            top = "\n".join(text(app).split("\n")[:2])
            assert "metrics 12 s old" in top and "ready 12 m" in top
            app._controls.push(scenes.replaying(metrics=replace(stale, age_s=1.0)))
            await pilot.pause()
            assert "old" not in text(app).split("\n")[0]


async def test_a_start_tells_its_phases_the_time_left_and_when_it_takes_longer_than_usual() -> None:
    controls = FakeControls(scenes.starting(elapsed=17.0))
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        shown = text(app)
        assert "✓ import" in shown and "9.8 s" in shown and "▸ ready" in shown and "about 0:12 left" in shown
        controls.push(scenes.starting(elapsed=40.0))
        await pilot.pause()
        assert "longer than usual" in text(app)


async def test_a_run_that_ends_is_a_row_with_its_ratio_and_a_sentence() -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "18/32 0:45 left" in text(app)
        controls.push(scenes.ready(runs=scenes.runs(2), metrics=scenes.metrics()))
        await pilot.pause()
        shown = text(app)
        assert "warm requests 12.3x faster, cold unchanged" in shown and "TTFT warm p50 0.08x" in shown


async def test_what_a_key_brings_is_drawn_before_numbers_that_only_move() -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("down")
        controls.push(scenes.replaying(now=scenes.NOW + 1, run=scenes.live(done=25)))
        await pilot.pause()
        assert "18/32" in text(app)
        changed = scenes.pending("prefix-caching").levers
        controls.push(scenes.replaying(now=scenes.NOW + 1.1, run=scenes.live(done=26), levers=changed))
        await pilot.pause()
        assert "26/32" in text(app) and "on → off" in text(app)


async def test_behind_another_screen_nothing_is_drawn_until_it_is_back(monkeypatch) -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(app.dashboard, "_draw", lambda: drawn.append(1))
        controls.push(scenes.compared(now=scenes.NOW + 2))
        await pilot.pause()
        assert not drawn
        monkeypatch.undo()
        await pilot.press("escape")
        await pilot.pause()
        assert "speculative ngram:4:2-4" in text(app) and "18/32" not in text(app)
