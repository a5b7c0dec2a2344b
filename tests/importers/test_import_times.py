"""Arrival times: units, order, ties, gaps, and turns that wait for each other."""

import pytest
from made_imports import batch, ids, imported, lines, times

from tui.errors import VtuneError


@pytest.mark.parametrize(
    ("stamps", "unit"),
    [
        ([0.0, 0.25, 1.5, 2.0], "s"),
        ([0, 250, 1500, 2000], "ms"),
        ([1729072359, 1729072359.25, 1729072360.5, 1729072361], "epoch s"),
        ([1729072359000, 1729072359250, 1729072360500, 1729072361000], "epoch ms"),
        ([1729072359000000000, 1729072359250000000, 1729072360500000000, 1729072361000000000], "epoch ns"),
        ([" 0 ", "0,25", " 1.5", "2"], "s"),
        (
            [
                "2024-10-16T09:52:39Z",
                "2024-10-16T11:52:39.250+02:00",
                "2024-10-16 09:52:40.5000000",
                "2024-10-16 09:52:41",
            ],
            "ISO 8601",
        ),
    ],
)
def test_the_unit_is_found_and_named(tmp_path, stamps, unit):
    rows = [batch(f"r{n}", stamp) for n, stamp in enumerate(stamps)]
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows))
    assert times(loaded) == [0, 0.25, 1.5, 2.0]
    assert report.time["unit"] == unit and report.time["assumed"]
    assert report.time["span_s"] == 2 and report.time["rate_per_s"] == 1.5


def test_a_unit_that_is_asked_for_wins(tmp_path):
    path = lines(tmp_path / "f.jsonl", batch("a", 0), batch("b", 250), batch("c", 2000))
    assert times(imported(path, time_unit="s")[0]) == [0, 250, 2000]
    assert times(imported(path, time_unit="us")[0]) == [0, 0.00025, 0.002]
    with pytest.raises(VtuneError, match="not a time"):
        imported(path, time_unit="iso")


def test_out_of_order_rows_are_sorted_stably_from_the_smallest(tmp_path):
    stamps = {"a": 3000, "b": 0, "c": 3000, "d": 2999, "e": 3000, "f": -5, "g": 6000}
    loaded, report = imported(lines(tmp_path / "f.jsonl", *(batch(id, t) for id, t in stamps.items())))
    assert ids(loaded) == ["f", "b", "d", "a", "c", "e", "g"]
    assert times(loaded)[:3] == [0, 0.005, 3.004]
    assert (report.time["reordered"], report.time["ties"]) == (3, 3)
    assert any("3 lines go back in time, 1 of them before zero" in note for note in report.notes)


def test_bad_and_missing_stamps_are_skipped_and_never_put_at_zero(tmp_path):
    rows = [batch("good", 0), batch("none"), {**batch("null"), "timestamp": None}]
    raw = ['{"custom_id": "x", "url": "/v1/completions", "body": {"prompt": "p"}, "timestamp": %s}' % bad
           for bad in ("NaN", "1e400", "true", '"soon"', "[1]")]  # fmt: skip
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows, *raw))
    assert ids(loaded) == ["good"]
    assert report.skipped["not a time"][0] == 5
    assert report.skipped["no time, where other requests have one"][0] == 2


def test_without_any_times_the_order_is_kept_and_the_recorded_pace_ruled_out(tmp_path):
    loaded, report = imported(lines(tmp_path / "f.jsonl", batch("a"), batch("b"), batch("c")))
    assert ids(loaded) == ["a", "b", "c"] and times(loaded) == [0, 1, 2]
    assert report.time["unit"] is None and "arrival times" in report.lacks
    assert loaded.header["arrivals"] == "made up"


def test_ties_are_spread_on_request_and_it_is_said(tmp_path):
    path = lines(tmp_path / "f.jsonl", *(batch(f"r{n}", 3000 * (n // 3)) for n in range(6)))
    assert times(imported(path)[0]) == [0, 0, 0, 3, 3, 3]
    even, report = imported(path, spread_ties="even")
    assert times(even) == [0, 1, 2, 3, 4, 5] and report.time["ties"] == 6
    assert even.header["spread_ties"] == "even"
    drawn = times(imported(path, spread_ties="random")[0])
    assert drawn == sorted(drawn) == times(imported(path, spread_ties="random")[0]) and len(set(drawn)) == 6
    assert max(drawn[:3]) < min(drawn[3:]) and drawn != times(even)


def test_long_gaps_are_warned_about_and_shortened_on_request(tmp_path):
    path = lines(tmp_path / "f.jsonl", batch("a", "2024-10-16T00:00:00Z"), batch("b", "2024-10-16T00:00:02Z"),
                 batch("c", "2025-01-24T00:00:02Z"), batch("d", "2025-01-24T00:00:03Z"))  # fmt: skip
    _, report = imported(path)
    assert any("a gap of 100.0 days" in note for note in report.notes)
    assert times(imported(path, max_gap_s=10)[0]) == [0, 2, 12, 13]


def test_turns_follow_each_other_by_the_sources_links(tmp_path):
    def turn(chat, parent, at):
        return {"chat_id": chat, "parent_chat_id": parent, "timestamp": at, "input_length": 40, "output_length": 200,
                "type": "text", "turn": 1, "hash_ids": [chat * 9, chat * 9 + 1, chat * 9 + 2]}  # fmt: skip

    turns = (turn(1, -1, 0.0), turn(3, 2, 9.0), turn(2, 1, 0.5), turn(4, 1, 12.0), turn(5, 777, 13.0), turn(6, 6, 14.0))
    path = lines(tmp_path / "f.jsonl", *turns)
    loaded, report = imported(path)
    assert [(r.id, r.after) for r in loaded.requests] == [
        ("1", None), ("2", "1"), ("3", "2"), ("4", "1"), ("5", None), ("6", None),
    ]  # fmt: skip
    assert [r.extra["session"] for r in loaded.requests] == ["1", "1", "1", "1", "5", "6"]
    assert report.links == {"linked": 3, "forks": 1, "lost_parents": 1, "loops": 1, "before_their_answer": 1}


def test_a_turn_follows_the_answer_that_its_prompt_repeats(tmp_path):
    def span(name, start, end, messages, said):
        said_and_asked = {"gen_ai.output.text": said, "gen_ai.input.messages": messages}
        return {
            "trace_id": "t",
            "span_id": name,
            "start_time": f"2026-01-01T00:00:{start}",
            "end_time": f"2026-01-01T00:00:{end}",
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.max_tokens": 9, **said_and_asked},
        }

    first = [{"role": "user", "content": "q1"}]
    second = [*first, {"role": "assistant", "content": "the answer"}, {"role": "user", "content": "q2"}]
    spans = (
        span("a", "00", "02", first, "the answer"),
        span("x", "01", "04", first, "another"),
        span("b", "03", "05", second, "more"),
    )
    loaded, report = imported(lines(tmp_path / "f.jsonl", *spans))
    links = [(r.id, r.after, r.think_s) for r in loaded.requests]
    assert links == [("a", None, None), ("x", None, None), ("b", "a", 1.0)]
    assert report.format == "otel"
