"""Series stay small over a day and keep their peaks; plots get no more points than columns."""

import pytest

from tui.metrics.series import Series, decimate


def test_a_day_of_samples_stays_bounded_and_keeps_the_peak():
    series = Series(capacity=256)
    n = 4 * 3600 * 24
    for i in range(n):
        series.add(i / 4, 0.99 if i == 12_345 else 0.25)
    assert 128 <= len(series) <= 256
    assert series.peak == 0.99
    assert max(v for _, v in series.points("max")) == 0.99
    # Every sample is in one bucket, so the mean over equal parts stays the mean of all.
    means = series.points("mean")
    assert means[-1][0] == (n - 1) / 4
    assert sum(1 for _, v in means if v != pytest.approx(0.25)) == 1
    steps = {round(b[0] - a[0], 6) for a, b in zip(means[:-2], means[1:-1], strict=True)}
    assert len(steps) == 1


def test_short_series_are_kept_as_they_are():
    series = Series(capacity=4)
    for t, value in enumerate([1.0, None, 3.0, 2.0]):
        series.add(float(t), value)
    assert series.points() == ((0.0, 1.0), (1.0, None), (2.0, 3.0), (3.0, 2.0))


def test_unknown_samples_do_not_count_as_zero():
    series = Series(capacity=2)
    for t, value in enumerate([1.0, None, None, None, 5.0]):
        series.add(float(t), value)
    assert series.points("mean") == ((3.0, 1.0), (4.0, 5.0))
    assert Series().peak is None


def test_decimation_keeps_extremes_gaps_and_the_last_time():
    points = tuple((float(i), float(i % 10)) for i in range(1000))
    reduced = decimate(points, 40)
    assert len(reduced) == 40 and reduced[-1][0] == 999.0
    assert {v for _, v in reduced} == {9.0}
    assert {v for _, v in decimate(points, 40, "min")} == {0.0}
    assert {v for _, v in decimate(points, 40, "mean")} == {4.0, 5.0}


def test_decimation_of_few_or_no_points():
    assert decimate((), 10) == ()
    assert decimate(((1.0, None), (2.0, 3.0)), 10) == ((1.0, None), (2.0, 3.0))
    assert decimate(((1.0, 2.0), (1.0, 4.0), (1.0, None)), 2) == ((1.0, 4.0),)
    unknown = tuple((float(i), None) for i in range(8))
    assert decimate(unknown, 2) == ((3.0, None), (7.0, None))


def test_a_pause_leaves_its_columns_out():
    points = tuple((float(t), 1.0) for t in (*range(10), *range(90, 100)))
    assert len(decimate(points, 10)) == 2
