"""Greedy answers of two arms: equal, parted by chance, or changed; and what tells chance from change."""

from dataclasses import replace

import pytest
from made_replays import outcome, plan, result

from tui.session.check import output_check
from tui.session.check.answer import between, distinct, within
from tui.session.check.fork import TIE, Fork, excerpt, parting
from tui.session.compare.pairing import Replayed

NIGHT = "The night was cold and the harbour was still."


def replays(texts: dict[str, list[list[str]]], **changes) -> list[Replayed]:
    """Arm -> its replays -> the text of each request."""
    found, number = [], 0
    for arm, of_arm in texts.items():
        for answers in of_arm:
            number += 1
            rows = [replace(outcome(i, 0.2, 0.03), text=text, **changes) for i, text in enumerate(answers)]
            found.append(Replayed.of(number, arm, 1, rows, result(), True))
    return found


def checked(texts: dict[str, list[list[str]]], *checks: dict, sampled: bool = False, **changes) -> dict:
    """The only arm's row, with the whole under "whole"."""
    ids = [f"r{i:03}" for i in range(len(texts["A"][0]))]
    asked = plan(check=True, greedy=[] if sampled else ids, **changes)
    whole = output_check(asked, replays(texts), checks)
    return {**whole["arms"][0], "whole": whole}


def fork(id: int, runs: tuple[int, int], gap: float, more: bool = False) -> dict:
    return {"asked": "fork", "id": f"r{id:03}", "runs": list(runs), "fork": {"token": 4, "gap": gap, "more": more}}


def control(cold: str, warm: str, gap: float | None = None, cached: int = 128) -> dict:
    parted = None if gap is None else {"token": 1, "gap": gap, "more": False}
    return {"asked": "control", "n": 2, "arm": "B", "id": "r000", "cold": cold, "warm": warm, "cached": cached,
            "fork": parted}  # fmt: skip


SAME = [[NIGHT, "Yes."]] * 2


def test_equal_answers_are_equal():
    row = checked({"A": SAME, "B": SAME})
    assert row["word"] == "equal" and row["why"] == "2 of 2 greedy answers equal"
    assert row["greedy"]["same_arm"] == {"n": 2, "equal": 2} == row["whole"]["same_arm"]


def test_answers_that_part_at_a_tie_are_near_ties_and_others_are_changes():
    other = [[NIGHT.replace("cold", "dark"), "Yes."]] * 2
    near = checked({"A": SAME, "B": other}, fork(0, (1, 3), 0.1))
    assert near["word"] == "near ties" and "1 parts at a near tie (tokens within 0.10 nats" in near["why"]
    sure = checked({"A": SAME, "B": other}, fork(0, (1, 3), TIE + 1))
    assert sure["word"] == "changed" and "1 greedy answer parts where the baseline's engine was sure" in sure["why"]
    (example,) = sure["greedy"]["examples"]
    assert example["texts"] == {"baseline": NIGHT, "arm": other[0][0]} and example["token"] == 4
    assert example["around"]["arm"].startswith("The night was dark")


def test_what_nobody_asked_the_engine_is_no_tie_and_no_change():
    row = checked({"A": SAME, "B": [["No.", "Yes."]] * 2})
    assert row["word"] == "unexplained" and "the engine was not asked" in row["why"]
    hidden = checked({"A": SAME, "B": [["No.", "Yes."]] * 2}, fork(0, (1, 3), 0.2, more=True))
    assert hidden["word"] == "unexplained"  # beyond the choices that were told, at least 0.2 away


def test_an_answer_that_both_arms_gave_is_within_what_one_arm_differs_by():
    wavering = [[NIGHT, "Yes."], ["Other.", "Yes."]]
    row = checked({"A": wavering, "B": wavering[::-1]})
    assert row["word"] == "no change seen" and row["greedy"]["within_replays"] == 1
    assert row["whole"]["same_arm"] == {"n": 2, "equal": 1}
    assert "1 within what the replays of one arm differ by" in row["why"]


def test_a_against_a_says_how_far_from_a_tie_chance_goes():
    """The baseline's own replays part where its engine is 1.2 nats apart: 1.1 between arms is no change then."""
    wavering, other = [[NIGHT, "Yes."], ["Other.", "Yes."]], [["Third.", "Yes."]] * 2
    told = [fork(0, (1, 3), 1.1)]
    assert checked({"A": SAME, "B": other}, *told)["word"] == "changed"
    row = checked({"A": wavering, "B": other}, *told, fork(0, (1, 2), 1.2))
    assert row["word"] == "near ties" and row["greedy"]["tie_bound"] == 1.2


def test_cold_against_warm_says_so_too():
    other = [["Other.", "Yes."]] * 2
    told = [fork(0, (1, 3), 0.8)]
    row = checked({"A": SAME, "B": other}, *told, control("a", "b", 0.9), control("a", "a"))
    assert row["word"] == "near ties" and row["whole"]["cold_warm"] == {
        "arm": "B", "n": 2, "equal": 1, "cached_tokens": [128, 128], "largest_gap": 0.9
    }  # fmt: skip
    # A second prompt that was computed as well is no control.
    missed = checked({"A": SAME, "B": other}, *told, control("a", "b", 0.9, cached=0))
    assert missed["word"] == "changed" and missed["whole"]["cold_warm"]["n"] == 0


def test_requests_that_a_replay_did_not_answer_are_left_out():
    found = replays({"A": SAME, "B": SAME})
    lost = replace(found[3], ok={"r001": found[3].ok["r001"]})
    arms = distinct((r.arm, r.number, r.ok.values()) for r in [*found[:3], lost])
    assert between(arms["B"], arms["A"], ["r000", "r001"]).n == 1
    assert within(arms["A"], ["r000", "r001"]).n == 2


def test_without_text_only_hashes_are_compared_and_that_is_said():
    texts = {"A": SAME, "B": SAME}
    found = [
        replace(r, ok={i: replace(o, text=None, text_sha256=o.text) for i, o in r.ok.items()}) for r in replays(texts)
    ]
    whole = output_check(plan(check=True, greedy=["r000", "r001"]), found, [])
    assert whole["word"] == "equal" and "compared by their hash alone" in whole["caveats"][0]


def test_a_replay_that_was_cut_short_before_its_first_answer_does_not_count():
    found = replays({"A": SAME, "B": SAME})
    whole = output_check(plan(check=True, greedy=["r000", "r001"]), [*found[:3], replace(found[3], ok={})], [])
    assert whole["word"] == "equal" and whole["arms"][0]["greedy"]["n"] == 2


def test_where_many_part_at_ties_the_others_do_too():
    base, arm = [[f"a {i}" for i in range(12)]] * 2, [[f"b {i}" for i in range(12)]] * 2
    ties = [fork(i, (1, 3), 0.1) for i in range(8)]
    assert checked({"A": base, "B": arm}, *ties)["word"] == "near ties"
    assert checked({"A": base, "B": arm}, *ties[:3])["word"] == "unexplained"
    assert checked({"A": base, "B": arm}, *ties, fork(9, (1, 3), 4.0))["word"] == "changed"


def test_what_the_engine_refused_is_a_caveat():
    row = checked({"A": SAME, "B": SAME}, {"asked": "fault", "what": "how likely the answers are: HTTP 400"})
    assert row["whole"]["caveats"] == ["how likely the answers are: HTTP 400"]


def test_a_check_that_was_not_wanted_is_none():
    assert output_check(plan(check=False, greedy=[]), replays({"A": SAME, "B": SAME}), []) is None
    assert output_check(plan(), [], []) is None  # a journal of an older vtune


def test_nothing_in_common_is_nothing_to_compare():
    assert checked({"A": [["x"]], "B": []})["word"] == "nothing to compare"


# -- forks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [([1, 2, 3], [1, 2, 4], 2), ([1], [1, 2], 1), ([], [5], 0), ([1, 2], [1, 2], None), ([9], [8], 0)],
)
def test_the_first_token_that_differs(one, other, place):
    assert parting(one, other) == place


def test_the_gap_is_of_the_less_likely_token_to_the_likeliest():
    choices = {7: -0.4, 8: -0.9, 9: -3.0}
    assert Fork.of(0, 7, 8, choices) == Fork(0, pytest.approx(0.5))
    assert Fork.of(0, 8, 9, choices).gap == pytest.approx(2.6)  # both are not what the engine would have said
    assert Fork.of(0, 7, 5, choices) == Fork(0, pytest.approx(2.6), more=True)
    # An answer that ended there: its token is in no text. It was likeliest, or the next after the other's.
    assert Fork.of(0, None, 8, choices).gap == pytest.approx(0.5)
    assert Fork.of(0, None, 7, choices).gap == pytest.approx(0.5)


def test_both_texts_are_shown_around_where_they_part():
    ours, theirs = excerpt("x" * 100 + "one", "x" * 100 + "two")
    assert ours == "…" + "x" * 40 + "one" and theirs == "…" + "x" * 40 + "two"
    assert excerpt("same", "same and more") == ("same", "same and more")
