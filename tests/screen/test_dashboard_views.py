"""What the screen says about each state of the session, at every size."""

from dataclasses import replace

import pytest
import scenes
from fake import FakeControls
from test_dashboard_keys import text
from textual.widgets import DataTable

from tui.app import VtuneApp
from tui.screens.layout import AREAS
from tui.session.snapshot import EMPTY, EngineView, MetricsView, Snapshot
from tui.widgets import look

SIZES = [(40, 10), (80, 24), (120, 36), (160, 48), (200, 60)]
SCENES = {
    "empty": EMPTY,
    "starting": scenes.starting(),
    "ready": scenes.ready(),
    "replaying": scenes.replaying(),
    "compared": scenes.compared(),
    "pending": scenes.pending("prefix-caching", "speculative"),
    "mismatched": scenes.mismatched(),
    "failed": scenes.failed(),
    "died": scenes.died(),
}


async def shown(snapshot: Snapshot, size: tuple[int, int] = (120, 36), *keys: str) -> str:
    app = VtuneApp(FakeControls(snapshot))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        return text(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_state_and_area_fits_every_size(size: tuple[int, int]) -> None:
    controls = FakeControls()
    app = VtuneApp(controls)
    async with app.run_test(size=size) as pilot:
        for snapshot in SCENES.values():
            controls.push(snapshot)
            await pilot.pause()
            # Where all areas are shown at once, one visit is enough.
            for area in AREAS if app.dashboard.has_class("-one") else AREAS[-1:]:
                app.dashboard.action_area(area)
                await pilot.pause()
                lines = text(app).split("\n")
                assert len(lines) == size[1] and lines[0].strip().startswith("vtune")


async def test_resizing_keeps_what_is_pending_chosen_and_measured() -> None:
    app = VtuneApp(FakeControls(scenes.pending("speculative")))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        await pilot.press("end")
        for size in [(40, 10), (5, 3), (80, 24), (120, 36), (200, 60)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
        after = text(app)
        assert "▸ speculation" in after and "off → ngram:4:2-4" in after and "71 % of 74 %" in after
        assert app.screen.query_one(DataTable).row_count == 2


async def test_before_the_session_is_open_nothing_is_offered_that_can_not_be_done() -> None:
    app = VtuneApp(FakeControls())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        screen = text(app)
        assert "○ opening" in screen and "no run yet" in screen and "replays the recording" not in screen
        app.dashboard.show(scenes.ready())
        await pilot.pause()
        assert "● ready" in text(app) and "no run yet · r replays the recording" in text(app)


async def test_the_engine_is_told_of_where_the_levers_leave_room() -> None:
    tall, low = await shown(scenes.ready(), (160, 48)), await shown(scenes.ready(), (120, 30))
    for fact in ("plain, 29.4 s", "46,592 tokens", "127.0.0.1:41877"):
        assert fact in tall
    assert "127.0.0.1" not in low


async def test_two_pending_changes_warn() -> None:
    one = await shown(scenes.pending("speculative"), (200, 60))
    assert "1 change · a apply" in one and "can't be attributed" not in one
    two = await shown(scenes.pending("speculative", "prefix-caching"), (200, 60))
    assert "2 changes · a apply" in two and "changes at once" in two


async def test_what_the_engine_runs_instead_is_told() -> None:
    screen = await shown(scenes.mismatched(), (200, 60))
    assert "≠ ● on" in screen and "asked on, the engine runs" in screen
    assert "applied = asked" in await shown(scenes.ready())
    assert "applied values not read yet" in await shown(scenes.starting())


async def test_a_failed_start_tells_cause_and_mend() -> None:
    for size in [(80, 24), (120, 36)]:
        screen = await shown(scenes.failed(), size)
        assert "failed to start" in screen
        assert "block size 16 is not a multiple of 32" in screen and "set block-size=32" in screen
    assert "TTFT" in await shown(scenes.failed(), (80, 24), "1")  # the panels are still a key away


async def test_a_dead_engine_comes_to_the_front_of_a_small_screen() -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("5")
        controls.push(scenes.died())
        await pilot.pause()
        assert "out of memory" in text(app)


async def test_start_up_shows_phases_estimate_and_log(tmp_path) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "(EngineCore pid=2702) INFO 11-29 17:10:04 [core.py:133] Initializing a V1 LLM engine\n"
        "\nweights: 10%\rweights: 100%\n"
    )
    screen = await shown(scenes.starting(log), (120, 36))
    assert "✓ import" in screen and "▸ ready" in screen and "about 0:12 left" in screen
    assert "Initializing a V1 LLM engine" in screen and "weights: 100%" in screen and "10%\r" not in screen


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        (MetricsView(prefix_state="off", prefix_ceiling=0.74), "prefix caching is off"),
        (MetricsView(prefix_state="unknown"), "hit rate unknown"),
        (MetricsView(prefix_state="on"), "nothing queried yet"),
        (MetricsView(speculative_state="off"), "speculation is off"),
        (MetricsView(speculative_state="unknown"), "acceptance unknown"),
        (MetricsView(speculative_state="on"), "nothing proposed yet"),
        (MetricsView(), "usage unknown"),
    ],
)
async def test_off_unknown_and_nothing_have_their_own_words(metrics: MetricsView, says: str) -> None:
    screen = await shown(scenes.ready(metrics=metrics))
    assert says in screen
    assert "0 %" not in screen


async def test_a_measured_zero_is_a_zero() -> None:
    points = ((scenes.NOW - 2, 0.0), (scenes.NOW - 1, 0.0))
    metrics = MetricsView(
        prefix_state="on", prefix_window=points, prefix_run=0.0, kv_usage=points, kv_peak=0.0, preemptions=0,
        speculative_state="on", acceptance_rate=0.0, mean_acceptance_length=1.0, per_position=(0.0,),
    )  # fmt: skip
    screen = await shown(scenes.ready(metrics=metrics))
    assert "run 0 %" in screen and "peak 0 %" in screen and "accepted 0 %" in screen and "preempted 0" in screen


async def test_unknown_numbers_are_dashes_not_zeros() -> None:
    screen = await shown(Snapshot(now=scenes.NOW, engine=EngineView(state="ready", since=scenes.NOW)))
    labels = screen.split("\n").index(
        next(line for line in screen.split("\n") if "running" in line and "waiting" in line)
    )
    assert "0" not in screen.split("\n")[labels + 1]


async def test_stale_metrics_tell_their_age() -> None:
    assert "42 s old" in await shown(scenes.replaying(metrics=replace(scenes.metrics(), age_s=42.0)))
    assert "s old" not in await shown(scenes.replaying())


async def test_runs_show_off_few_none_and_ratios() -> None:
    screen = await shown(scenes.compared(), (160, 48))
    rows = {
        line.split()[1]: line for line in screen.split("\n") if line.startswith("│   ") and line.split()[1] in "123"
    }
    assert "★ baseline" in rows["1"] and "none" in rows["1"] and "off" in rows["1"]
    assert "2.61 / few" in rows["2"] and "0.21 / 0.34" in rows["2"] and "71 %" in rows["2"]
    assert "TTFT warm p50 0.08x" in screen and "TPOT p50 0.37x" in screen


async def test_text_from_outside_stays_text() -> None:
    evil = "[red]\x1b[2J\x1b]0;owned\x07 \u202edrow\u202c \x00 ok"
    lever = replace(scenes.LEVERS[0], note=evil, asked=evil, gain=evil)
    run = replace(scenes.runs(1)[0], label=evil)
    snapshot = scenes.replaying(
        profile=evil, levers=(lever,), runs=(run,), run=replace(scenes.live(), recording=evil),
        engine=scenes.engine(model=evil, vllm=evil, device=evil),
    )  # fmt: skip
    for size in [(80, 24), (200, 60)]:
        screen = await shown(snapshot, size)
        assert "[red]" in screen
        assert not {"\x1b", "\x07", "\x00", "\u202e", "\u202c"} & set(screen)
    failure = scenes.failed()
    failure = replace(
        failure, engine=replace(failure.engine, failure=replace(failure.engine.failure, what=evil, mend=evil))
    )
    assert "[red]" in await shown(failure)


async def test_only_what_changed_is_drawn_again(monkeypatch) -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        drawn: list[str] = []
        for part in app.dashboard._parts:
            monkeypatch.setattr(part, "refresh", lambda *a, part=part, **k: drawn.append(part.id))
        controls.push(replace(controls.snapshot, now=scenes.NOW + 0.25))
        await pilot.pause()
        assert drawn == []
        controls.push(replace(controls.snapshot, now=scenes.NOW + 2, run=scenes.live(done=19)))
        await pilot.pause()
        assert set(drawn) == {"header", "ttft", "numbers", "requests"}


async def test_targets_warnings_errors_and_late_sending_are_told() -> None:
    screen = await shown(scenes.compared(), (160, 48))
    assert "✕ ttft-p95 3.40 s of 2.00 s" in screen and "✓ tpot-p95 41 ms of 100 ms" in screen
    warned = scenes.ready(engine=scenes.engine(warnings=("chunked prefill off is not supported for this model",)))
    assert "▲ chunked prefill off" in await shown(warned)
    run = replace(scenes.live(), failed=3, errors=(("http 400", 2), ("timeout", 1)), max_lag_s=0.4)
    screen = await shown(scenes.replaying(run=run))
    assert "2 × http 400" in screen and "1 × timeout" in screen and "400 ms" in screen


async def test_any_theme_of_textual_draws_every_panel() -> None:
    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        before = text(app)
        for name in app.available_themes:
            app.theme = name
            await pilot.pause()
            assert text(app) == before


async def test_plots_take_their_colours_from_the_theme() -> None:
    def colours(app: VtuneApp) -> set[str]:
        kv = app.screen.query_one("#kv")
        segments = [segment for y in range(kv.size.height) for segment in kv.render_line(y)]
        return {segment.style.color.name for segment in segments if "⣿" in segment.text}

    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        dark = colours(app)
        app.theme = "vtune-light"
        await pilot.pause()
        assert dark == {look.DARK.variables["used"]} and colours(app) == {look.LIGHT.variables["used"]}
