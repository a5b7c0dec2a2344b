from itertools import islice, pairwise

import pytest

from tui.errors import VtuneError
from tui.traffic.recording import Request
from tui.traffic.schedule import parse_pace


def made(*times):
    return [Request(f"r{i}", at, "/v1/completions", {}) for i, at in enumerate(times)]


def offsets(pace, count, **more):
    return [due for due, _ in islice(parse_pace(pace, **more).due_times(made(*([0.0] * count))), count)]


def test_recorded_time_starts_at_the_first_request_and_is_scaled():
    pairs = list(parse_pace("recorded", speed=2).due_times(made(10.0, 14.0, 11.0)))
    assert [(due, r.id) for due, r in pairs] == [(0.0, "r0"), (0.5, "r2"), (2.0, "r1")]


def test_equal_times_keep_file_order():
    pairs = parse_pace("recorded").due_times(made(1.0, 0.0, 1.0, 1.0))
    assert [r.id for _, r in pairs] == ["r1", "r0", "r2", "r3"]


def test_constant_is_evenly_spaced():
    assert offsets("constant:4", 5) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_poisson_is_seeded_and_has_its_rate():
    first, again, other = offsets("poisson:5", 4000), offsets("poisson:5", 4000), offsets("poisson:5", 4000, seed=1)
    assert first == again != other
    gaps = [b - a for a, b in pairwise(first)]
    assert sum(gaps) / len(gaps) == pytest.approx(0.2, rel=0.05)
    assert sum(gap > 0.2 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.03)  # 1/e, as exponential gaps have


@pytest.mark.parametrize(("first", "last"), [(2.0, 10.0), (0.0, 8.0), (10.0, 1.0), (4.0, 4.0)])
def test_a_ramp_sends_as_many_as_the_area_under_its_rate(first, last):
    times = offsets(f"ramp:{first}-{last}/10", 300)
    assert times == sorted(times)
    for until in (2.5, 5.0, 10.0):
        expected = first * until + (last - first) * until**2 / 20
        assert sum(t < until for t in times) == pytest.approx(expected, abs=1.01)
    after = [t for t in times if t > 10.5]
    assert after[1] - after[0] == pytest.approx(1 / last)


def test_bursts_come_together():
    assert offsets("burst:2/3", 5) == [0.0, 0.0, 3.0, 3.0, 6.0]


def test_a_turn_waits_for_its_answer_and_the_scaled_think_time():
    pace = parse_pace("recorded", speed=2)
    assert pace.follow(due=1.0, answered=5.0, think_s=4.0) == 7.0
    assert pace.follow(due=9.0, answered=5.0, think_s=4.0) == 9.0
    assert pace.follow(due=1.0, answered=5.0, think_s=None) == 5.0


def test_a_closed_loop_does_not_think():
    pace = parse_pace("closed:3")
    assert pace.concurrency == 3
    assert pace.follow(due=0.0, answered=5.0, think_s=60.0) == 5.0


BAD = ("", "fast", "closed", "closed:0", "closed:1.5", "constant:0", "constant:-1", "poisson:nan", "ramp:1-2")


@pytest.mark.parametrize("text", [*BAD, "ramp:1-0/5", "burst:3"])
def test_paces_that_mean_nothing_are_refused(text):
    with pytest.raises(VtuneError):
        parse_pace(text)


@pytest.mark.parametrize("speed", [0, -1, float("nan"), float("inf")])
def test_a_speed_is_over_zero(speed):
    with pytest.raises(VtuneError, match="speed"):
        parse_pace("recorded", speed=speed)
