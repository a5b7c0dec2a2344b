"""The chunked-prefill experiment: which budget is named, what a long request may pay, and the Pareto set."""

import pytest
from made_lab import answer, found, replay, verdict

from tui.session.lab import chunked
from tui.session.lab.tradeoff import LONGER

ARMS = ["off", "2048", "512", "2048/512"]
# value -> TTFT of short requests, completion of long ones, tokens/s
LIKE_A_CPU = {"off": (4.0, 12.0, 900.0), "2048": (2.4, 13.0, 950.0), "512": (15.0, 30.0, 400.0),
              "2048/512": (1.6, 15.0, 800.0)}  # fmt: skip


def replays(figures: dict[str, tuple[float, float, float]], shorts: int = 20) -> list:
    def one(number: int, arm: str) -> object:
        short, long, speed = figures[arm]
        by = 1 + 0.002 * number
        rows = [answer(f"s{n}", by * short * (1 + 0.01 * n), group="short") for n in range(shorts)]
        rows += [answer(f"l{n}", by * (long - 0.45), group="long") for n in range(3)]
        throughput = {"prompt_tokens_per_s": speed - 20, "output_tokens_per_s": 20.0}
        return replay(number, arm, rows, throughput=throughput)

    order = [*figures, *reversed(figures)]
    return [one(number, arm) for number, arm in enumerate(order, 1)]


def lab(figures: dict, word: str = "faster", **more) -> dict:
    told = [verdict(arm, "ttft_s.p95", "group:short", word, 0.6, 0.5, 0.7) for arm in figures]
    return found("chunked", "chunked-prefill", list(figures), replays(figures, **more), verdicts=told)["lab"]


def rows(told: dict) -> dict[str, dict]:
    return {row["value"]: row for row in told["table"]}


def test_the_named_budget_has_the_lowest_short_p95_of_those_whose_long_requests_do_not_pay_too_much():
    """2048/512 is better for short requests, but its long ones take 1.25 times as long."""
    told = lab(LIKE_A_CPU)
    assert told["chosen"] == "2048" and rows(told)["2048/512"]["within"] is False
    assert rows(told)["2048/512"]["long_ratio"] == pytest.approx(1.25, rel=0.02)
    assert "chunked prefill at 2048" in told["sentences"][0] and "x0.60" not in told["sentences"][0]
    assert f"at most x{LONGER}" in told["sentences"][0] and "Chance is not" not in told["sentences"][0]


def test_the_pareto_set_leaves_out_what_another_arm_beats():
    told = lab(LIKE_A_CPU)
    assert {value for value, row in rows(told).items() if row["pareto"]} == {"off", "2048", "2048/512"}
    assert "dominated by another: 512" in told["sentences"][1]


def test_a_p95_is_over_the_short_requests_of_all_replays():
    """By hand: 40 values; numpy's linear method at 0.95 lies at place 37.05."""
    told = rows(lab({"off": (1.0, 5.0, 100.0), "2048": (1.0, 5.0, 100.0)}))["off"]
    values = sorted(by * (1 + 0.01 * n) for n in range(20) for by in (1.002, 1.008))
    assert told["short_ttft_p95_s"] == pytest.approx(values[37] + 0.05 * (values[38] - values[37]))
    assert told["short_n"] == 40 and told["long_n"] == 6


def test_no_direction_is_assumed():
    told = lab({"off": (1.0, 10.0, 900.0), "2048": (2.0, 11.0, 800.0), "512": (9.0, 30.0, 300.0)})
    assert told["chosen"] == "off" and told["sentences"][0].startswith("No budget beats off")
    assert [row["pareto"] for row in told["table"]] == [True, False, False]


def test_a_budget_that_chance_explains_is_not_sold_as_a_gain():
    told = lab({"off": (2.0, 10.0, 900.0), "2048": (1.9, 10.0, 900.0)}, word="no difference seen")
    assert told["chosen"] == "2048" and "Chance is not ruled out (no difference seen)" in told["sentences"][0]


def test_verdicts_are_the_comparisons_own():
    figures = {"off": (2.0, 10.0, 900.0), "2048": (1.0, 10.0, 900.0)}
    told = found("chunked", "chunked-prefill", list(figures), replays(figures))
    (row,) = [v for v in told["verdicts"] if (v["metric"], v["split"]) == ("ttft_s.p95", "group:short")]
    assert row["word"] == "faster"
    assert told["lab"]["chosen"] == "2048" and "Chance" not in told["lab"]["sentences"][0]


def test_too_few_short_requests_name_no_budget():
    told = lab(LIKE_A_CPU, shorts=5)
    assert told["chosen"] is None and "No budget can be named" in told["sentences"][0]
    assert all(row["short_ttft_p95_s"] is None and row["pareto"] is None for row in told["table"])


@pytest.mark.parametrize("scale", [0.1, 0.375, 1, 2])
def test_the_scale_cuts_requests_and_never_the_long_prompts(scale):
    sent = chunked.STUDY.requests(scale)
    longs = [r for r in sent if r.group == "long"]
    assert (len(longs), len(sent)) == {0.1: (3, 24), 0.375: (3, 24), 1: (8, 64), 2: (16, 128)}[scale]
    assert all(len(r.body["messages"][0]["content"].split()) >= 2800 for r in longs)
    starts = [r.body["messages"][0]["content"][:40] for r in sent]
    assert len(set(starts)) == len(starts)  # nothing for the prefix cache
    assert {r.group for r in sent[:8]} == {"long", "short"}
