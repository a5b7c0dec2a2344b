"""The text histogram: no request is lost, every value lies in its row, long gaps fold."""

import pytest

from tui.session.report import histogram


def rows(text: str) -> list[tuple[str, str]]:
    return [tuple(part.strip() for part in line.split("│")) for line in text.splitlines()[1:]]


@pytest.mark.parametrize(
    "value", [1e-4, 0.001, 0.0999999, 0.1, 0.12, 0.15, 0.999, 1.0, 1.2, 9.99, 10.0, 81.9, 82.0, 640.0]
)
def test_a_value_lies_between_the_edges_of_its_row(value):
    index = histogram.bin_of(value)
    assert histogram.edge(index) <= value * (1 + 1e-9)
    assert value < histogram.edge(index + 1)


def test_few_requests_are_a_glyph_each_by_class():
    text = histogram.ttft({"cold": [1.0, 1.05], "partial": [1.1], "warm": [0.1], "unknown": []})
    assert text.splitlines()[0] == "TTFT, ░ cold 2  ▒ partial 1  █ warm 1"
    assert rows(text) == [("100 ms", "█ 1"), ("…", ""), ("1.00 s", "░░▒ 3")]


def test_many_requests_are_scaled_and_their_number_told():
    text = histogram.ttft({"cold": [1.0] * 999 + [2.0], "warm": [1.0]})
    widest, smallest = rows(text)[0][1], rows(text)[-1][1]
    assert widest.endswith(" 1000") and 45 <= len(widest.split()[0]) <= 52 and "█" in widest
    assert smallest == "░ 1"


def test_no_value_no_histogram():
    assert histogram.ttft({"cold": [], "warm": []}) is None


def test_bars_of_positions():
    assert histogram.positions([1.0, 0.5, 0.0]).splitlines()[1] == f"position 2   50.0 %  {'█' * 15}"
