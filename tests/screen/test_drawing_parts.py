"""The pure parts under the widgets: words for numbers, harmless text, bins, plots, layout, the log's tail."""

import time
from dataclasses import replace

import pytest
import scenes

from tui.metrics.buckets import Coarse
from tui.screens.layout import AREAS, arrange
from tui.screens.pace import Pace
from tui.session.snapshot import LeverView, MetricsView, Snapshot
from tui.widgets import figures, plot
from tui.widgets.canvas import Canvas, axis
from tui.widgets.histogram import LogAxis, p95, quantile
from tui.widgets.lever_list import LeverList, in_order, toggled
from tui.widgets.lever_note import LeverNote
from tui.widgets.log_tail import LogTail
from tui.widgets.plain import plain
from tui.widgets.plot import Frame, Series, decimate
from tui.widgets.run_columns import COLUMNS, fitting
from tui.widgets.timeline import Timeline
from tui.widgets.ttft import Ttft


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (figures.seconds(None), "–"),
        (figures.seconds(0.0), "0.000 s"),
        (figures.seconds(0.0834), "0.083 s"),
        (figures.seconds(0.9999), "1.00 s"),
        (figures.seconds(12.94), "12.9 s"),
        (figures.seconds(104.2), "104 s"),
        (figures.millis(0.0042), "4.2 ms"),
        (figures.millis(0.0344), "34 ms"),
        (figures.percent(None), "–"),
        (figures.percent(0.0), "0 %"),
        (figures.percent(0.0001), "< 0.1 %"),
        (figures.percent(0.0712), "7.1 %"),
        (figures.percent(0.999), "100 %"),
        (figures.clock(3723.9), "1:02:03"),
        (figures.clock(21), "0:21"),
        (figures.age(59), "59 s"),
        (figures.age(7200), "2 h"),
        (figures.size(2_480_000_000), "2.3 GiB"),
        (figures.size(851_443_712), "812 MiB"),
        (figures.times(0.081), "0.08x"),
        (figures.times(12.34), "12.3x"),
        (figures.pair(None), "–"),
        (figures.pair({"n": 0, "p50": None, "p95": None}), "none"),
        (figures.pair({"n": 8, "p50": 2.61, "p95": None}), "2.61 / few"),
        (figures.pair({"n": 32, "p50": 0.0341, "p95": 0.0412}, 1000), "34 / 41"),
    ],
)
def test_numbers_have_units_and_nothing_has_its_own_word(shown: str, words: str) -> None:
    assert shown == words


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bP1$r\x1b\\x", "x"),
        ("a\rb\x08c\x07", "abc"),
        ("\u202eabc\u202c\u2066d\u2069\u200f", "abcd"),
        ("nul\x00nul", "nul\ufffdnul"),
        ("tab\tend", "tab    end"),
        ("two\nlines", "two lines"),
        ("[bold]no markup[/]", "[bold]no markup[/]"),
        ("é漢字🙂", "é漢字🙂"),
        ("\ud800 surrogate", " surrogate"),
    ],
)
def test_outside_text_is_harmless(raw: str, safe: str) -> None:
    assert plain(raw) == safe


def test_a_long_line_is_cut_and_costs_no_more() -> None:
    start = time.process_time()
    assert plain("x" * 50_000_000, 80) == "x" * 79 + "…"
    assert time.process_time() - start < 0.5


def test_quantiles_are_linear_and_p95_wants_twenty() -> None:
    assert quantile([], 0.5) is None
    assert quantile([1.0, 2.0, 4.0, 8.0], 0.5) == 3.0
    assert p95(range(19)) is None
    assert p95(range(20)) == pytest.approx(18.05)


def test_the_time_axis_is_logarithmic_and_holds_every_value() -> None:
    axis = LogAxis.around([0.21, 3.4], 61)
    assert (axis.low, axis.high) == (0.2, 5.0)
    assert axis.column(0.2) == 0 and axis.column(5.0) == 60 and axis.column(1.0) == 30
    assert sum(axis.counts([0.001, 0.21, 3.4, 99.0], 3)) == 4
    labels = [label for _, label in axis.ticks()]
    assert labels[0] == ".2" and labels[-1] == "5 s"
    assert LogAxis.around([0.3, 0.3], 40).high / LogAxis.around([0.3, 0.3], 40).low >= 10


@pytest.mark.parametrize("columns", [1, 5, 12, 30, 200])
def test_ticks_never_touch(columns: int) -> None:
    end = -9
    for column, label in LogAxis.around([0.002, 40.0], columns).ticks():
        start = column - len(label) // 2
        assert start > end
        end = start + len(label) - 1


def test_decimation_keeps_peaks_and_gaps() -> None:
    points = tuple((float(t), None if 400 <= t < 600 else 0.1) for t in range(1000))
    points = points[:777] + ((777.0, 0.9),) + points[778:]
    kept = decimate(points, 0, 999, 50)
    assert len(kept) <= 50
    assert (777.0, 0.9) in kept
    assert any(value is None for _, value in kept)
    assert decimate((), 0, 1, 10) == ()


def test_a_plot_is_exactly_as_large_as_asked_and_names_roles() -> None:
    series = [Series(((0.0, 0.2), (5.0, None), (10.0, 0.9)), "cold"), Series(((3.0, 0.5),), "baseline", "┄", "points")]
    lines = plot.draw(40, 8, Frame((0, 10), (0, 1), ((0.0, "0:00"),), ((1.0, "100%"),), uprights=(4.0,)), series)
    assert [line.cell_length for line in lines] == [40] * 8
    styles = {span.style for line in lines for span in line.spans}
    assert {"$cold", "$baseline", "$mark", "$dim"} <= styles
    assert not any("\x1b" in line.plain for line in lines)
    assert [line.plain for line in plot.draw(5, 3, Frame((0, 1), (0, 1)), series)] == [" " * 5] * 3


def test_the_cost_of_a_time_line_does_not_grow_with_the_run() -> None:
    def cost(samples: int) -> float:
        points = tuple((float(t), (t % 97) / 97) for t in range(samples))
        line = Timeline.of(points)
        assert line is not None
        best = 1.0
        for _ in range(5):
            start = time.process_time()
            plot.draw(
                44, 12, line.frame(1.0, ((1.0, "100%"),), 40), [Series(line.points(points, 80), "cold", kind="area")]
            )
            best = min(best, time.process_time() - start)
        return best

    cost(100)
    assert cost(7_200) < 3 * cost(200)


def test_every_area_is_reachable_at_every_size() -> None:
    for width, height in [(40, 10), (80, 24), (120, 36), (300, 90)]:
        for area in AREAS:
            assert area in arrange(width, height, "panels", area, False, True).shown
            assert arrange(width, height, "panels", area, True, True).shown & set(AREAS) == {area}
    assert "failure" in arrange(80, 24, "failure", "ttft", False, False).shown


def test_levers_come_in_the_order_that_matters_and_toggle_back() -> None:
    assert [lever.group for lever in in_order(scenes.LEVERS)] == [
        "reuse",
        "scheduling",
        "scheduling",
        "memory",
        "speculation",
    ]
    chunked = in_order(scenes.LEVERS)[1]
    assert toggled(chunked) == "off"
    assert toggled(replace(chunked, pending="off")) == "2048"  # back to what runs, not to the general "on"
    assert toggled(replace(chunked, asked="off")) == "on"
    assert toggled(replace(chunked, toggle=None, choices=())) is None
    assert toggled(replace(chunked, toggle=None, choices=("a", "b"), asked="b")) == "a"


def test_columns_give_way_and_never_overflow() -> None:
    for width in range(20, 220):
        shown = fitting(width)
        assert {"number", "change"} <= {column.key for column in shown}
        if width >= 34:
            assert sum(column.width + 2 for column in shown) <= width
    assert len(fitting(150)) == len(COLUMNS)


def test_the_tail_follows_grows_and_starts_over(tmp_path) -> None:
    log, tail = tmp_path / "engine.log", LogTail(keep=3)
    assert tail.look(log) == []
    log.write_bytes(b"one\ntwo\npart")
    assert tail.look(log) == ["one", "two"]
    with log.open("ab") as file:
        file.write(b"ial \xff\n 10%\r 99%\r\n")
    assert tail.look(log) == ["partial \ufffd", " 99%"]
    assert list(tail.lines) == ["two", "partial \ufffd", " 99%"]
    log.write_bytes(b"new\n")
    assert tail.look(log) == ["new"]
    assert tail.look(None) == [] and not tail.lines


def test_a_log_that_explodes_does_not_hold_up_the_screen(tmp_path) -> None:
    log, tail = tmp_path / "engine.log", LogTail()
    log.write_bytes(b"x" * 30_000_000 + b"\nlast\n")
    start = time.process_time()
    assert tail.look(log)[-1] == "last"
    assert time.process_time() - start < 0.5


def test_news_is_drawn_at_once_and_moving_numbers_twice_a_second() -> None:
    pace, scene = Pace(), scenes.replaying()
    assert pace.due(scene)
    ticks = [replace(scene, now=scenes.NOW + 0.25 * tick) for tick in range(1, 21)]
    assert sum(pace.due(one) for one in ticks) == 10
    last = ticks[-1]
    for news in (
        replace(last, run=None),
        replace(last, engine=scenes.engine(state="died")),
        replace(last, levers=()),
        replace(last, runs=scenes.runs(2)),
    ):
        assert pace.due(replace(news, now=last.now + 0.1))
        assert pace.due(replace(last, now=last.now + 0.2))
    assert pace.due(replace(last, now=scenes.NOW))  # a reopened session that jumps back


def test_traffic_that_is_not_ours_is_labelled_as_the_engine_counts_it() -> None:
    panel = Ttft(id="ttft")
    seen = Snapshot(metrics=MetricsView(foreign_ttft=Coarse(12, 0.31, None)))
    told = "\n".join(line.plain for line in panel.draw(panel.view(seen), 60, 10))
    assert "not ours n 12" in told and "engine side, coarse" in told and "0.31 s" in told
    assert "not ours" not in "\n".join(line.plain for line in panel.draw(panel.view(Snapshot()), 60, 10))


def test_a_lever_that_is_not_here_is_greyed_and_one_that_nobody_named_shows_what_runs() -> None:
    here = LeverView("prefix-hash", "prefix hash", "reuse", "", applied="sha256", choices=("sha256", "xxhash"))
    away = LeverView("kv-offload", "KV offload", "memory", "", missing="needs vLLM 0.12, this is 0.8", extra=True)
    panel = LeverList(id="levers")
    drawn = [line.plain for line in panel.draw(panel.view(Snapshot(levers=(here, away))), 30, 10)]
    assert [" ".join(line.split()) for line in drawn] == [
        "reuse", "▸ prefix hash sha256", "more", "KV offload not here",
    ]  # fmt: skip
    assert toggled(here) == "xxhash"
    note = LeverNote(id="note")
    note.show(Snapshot(levers=(here, away)))
    note.tell(away)
    assert "needs vLLM 0.12, this is 0.8" in "\n".join(line.plain for line in note.lines(60))


@pytest.mark.parametrize("width", [8, 20, 28, 29, 30, 31, 60])
def test_labels_of_an_axis_stay_apart_and_the_unit_is_kept(width: int) -> None:
    canvas = Canvas(width, 1)
    axis(canvas, 0, 4, LogAxis.around([0.2, 49.0], width - 4).ticks())
    (line,) = canvas.lines()
    labels = line.plain.split()
    assert labels[-1] == "s" and len(labels) >= 2
    assert {float(label) for label in labels[:-1]} <= {0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0}
