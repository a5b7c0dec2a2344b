"""A session that runs for days: what is kept of a run is bounded, and rows are made again only when they change."""

from dataclasses import replace

from made_session import whole

from tui.metrics.scrape import EngineSample, Scrape
from tui.metrics.window import Window
from tui.session import bounds, state, views


def scrapes(number: int, restart_at: int) -> list[Scrape]:
    """Ten tokens a second; the engine starts anew at `restart_at`; the cache is fullest at 1,234."""
    made = []
    for t in range(number):
        since = t - restart_at if t >= restart_at else t
        sample = EngineSample("0", generation_tokens=10 * since, kv_usage=0.9 if t == 1_234 else 0.3)
        made.append(Scrape(float(t), (sample,), started_at=float(restart_at if t >= restart_at else 0)))
    return made


def test_scrapes_of_a_long_run_are_bounded_and_count_the_same() -> None:
    every, kept = scrapes(20_000, restart_at=7_777), []
    for scrape in every:
        bounds.keep(kept, scrape)
    assert len(kept) <= bounds.MOST
    assert Window.over(kept).generation_tokens == Window.over(every).generation_tokens
    assert Window.over(kept).restarts == 1
    assert kept[0] is every[0] and kept[-1] is every[-1]
    assert max(scrape.kv_usage or 0.0 for scrape in kept) == 0.9


def test_rows_are_made_once_and_again_for_another_baseline(tmp_path) -> None:
    told = state.load(whole(tmp_path / "session"))

    def rows():
        return views.snapshot(told, tmp_path, 0.0, None).runs

    first, again = rows(), rows()
    assert len(first) == 3 and all(before is after for before, after in zip(first, again, strict=True))
    told.apply({"e": "baseline", "t": 1.0, "n": 2})
    moved = rows()
    assert [row.baseline for row in moved] == [False, True, False]
    assert moved[0].ratios and moved[0].ratios != first[0].ratios


def test_what_is_released_leaves_the_picture_of_the_newest_run(tmp_path) -> None:
    told = state.load(whole(tmp_path / "session"))
    before = views.snapshot(told, tmp_path, 0.0, None)
    bounds.release(told.runs.values())
    told.rows.clear()
    after = views.snapshot(told, tmp_path, 0.0, None)
    assert replace(after, now=before.now) == before
    assert not any(run.scrapes for run in told.runs.values())
