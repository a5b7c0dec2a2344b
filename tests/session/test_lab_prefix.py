"""The prefix experiment: how much lower warm TTFT is, whether a cold request pays, and a control that must not hit."""

import numpy as np
import pytest
from made_lab import answer, found, replay
from scipy import stats

from tui.session.lab import prefix
from tui.session.lab.floor import floor

OFF, ON = {"state": "off", "hits": None, "hit_rate": None}, {"state": "on", "hits": 29_000, "hit_rate": 0.85}


def replays(warm: float = 0.5, cold: float = 10.1, off: float = 10.0) -> list:
    """off, on, on, off: eight requests each, the first with caching on is cold."""
    drift = iter((1.0, 1.01, 1.005, 1.015))

    def one(number: int, arm: str) -> object:
        by = next(drift)
        slow = [answer(f"q{n}", by * (off + 0.02 * (n % 3))) for n in range(8)]
        quick = [answer("q0", by * cold), *(answer(f"q{n}", by * warm, cached_tokens=4096) for n in range(1, 8))]
        return replay(number, arm, slow if arm == "off" else quick, prefix_cache=OFF if arm == "off" else ON)

    return [one(1, "off"), one(2, "on"), one(3, "on"), one(4, "off")]


def control(hits: int = 0) -> object:
    cache = {"state": "on", "hits": hits, "queries": 16_800, "hit_rate": hits / 16_800}
    return replay(5, "control", [answer(f"c{n}", 10.0) for n in range(4)], prefix_cache=cache)


def lab(*given, **more) -> dict:
    return found("prefix", "prefix-caching", ["off", "on"], *given, **more)["lab"]


def test_a_few_hits_of_the_control_are_not_called_none():
    told = lab(replays(warm=2.0, cold=14.0), control(hits=128))
    assert told["control"]["holds"] and "no hits" not in told["headline"] and "hits (0.8%" in told["headline"]


def test_it_says_how_much_lower_warm_is_that_cold_is_not_slower_and_that_the_control_has_no_hits():
    told = lab(replays(), control())
    assert told["warm"]["holds"] and 19 < told["warm"]["times_lower"] < 21
    assert told["warm"]["ci"][0] < told["warm"]["times_lower"] < told["warm"]["ci"][1]
    assert told["cold"]["holds"] and (told["cold"]["n_cold"], told["cold"]["n_off"]) == (2, 16)
    assert told["control"]["holds"]
    assert told["headline"].endswith("(at least 10), the cold request is within the noise floor, "
                                     "the control has no hits.")  # fmt: skip
    text = " ".join(told["sentences"])
    assert "times lower" in text and "At least 10 times lower: yes" in text
    assert "2 cold requests against 16" in text and "within the noise floor" in text and "had no hits" in text


def test_what_does_not_hold_is_said():
    told = lab(replays(warm=2.0, cold=14.0), control(hits=16_000))
    assert [told[part]["holds"] for part in ("warm", "cold", "control")] == [False, False, False]
    text = " ".join(told["sentences"])
    assert "At least 10 times lower: no" in text and "outside the noise floor" in text and "not to be trusted" in text


def test_ten_times_lower_must_be_a_claim_and_no_accident():
    """Two replays that differ wildly: the ratio alone would do, the verdict does not."""
    rows = replays()
    rows[1] = replay(2, "on", [answer(f"q{n}", 12.0, cached_tokens=4096 if n else 0) for n in range(8)],
                     prefix_cache=ON)  # fmt: skip
    told = lab(rows, control())
    assert told["warm"]["holds"] is False


def test_what_was_not_measured_is_unknown():
    told = lab(replays()[:1], None)
    assert [told[part]["holds"] for part in ("warm", "cold", "control")] == [None, None, None]
    whole = found("prefix", "prefix-caching", ["off", "on"], replays(), None)
    assert "the control was not made" in whole["caveats"] and whole["lab"]["control"]["holds"] is None


def test_half_a_lab_tells_what_was_measured_and_judges_nothing():
    told = lab(replays()[:3], None)
    assert told["warm"]["holds"] is None and told["cold"]["holds"] is None
    text = " ".join(told["sentences"])
    assert "TTFT p50 10.0 s off, 0.50 s on" in text and "no mirrored round is complete" in text
    assert "(2 requests), 10.0 s off (8 of the same length); too few to judge" in text


def test_a_first_request_that_hit_is_not_taken_for_a_cold_one():
    rows = replays()
    rows[2] = replay(3, "on", [answer(f"q{n}", 0.5, cached_tokens=4096) for n in range(8)], prefix_cache=ON)
    assert lab(rows, control())["cold"]["holds"] is None


def test_a_cut_scale_is_a_caveat():
    whole = found("prefix", "prefix-caching", ["off", "on"], replays(), control(), scale=0.4, cut=True)
    assert any("scale 0.4" in words and "ten minutes" in words for words in whole["caveats"])
    asked = found("prefix", "prefix-caching", ["off", "on"], replays(), control(), scale=0.4, asked=True)
    assert any("scale 0.4, as asked" in words for words in asked["caveats"])
    assert not found("prefix", "prefix-caching", ["off", "on"], replays(), control())["caveats"]


# -- the noise floor ---------------------------------------------------------------------------


def drawn(rng: np.random.Generator, own: float, shared: float, gain: float = 1.0) -> tuple[list, list, list]:
    shift = np.exp(shared * rng.standard_normal(4))

    def some(i: int, count: int, seconds: float) -> list[float]:
        return list(seconds * shift[i] * np.exp(own * rng.standard_normal(count)))

    cold = [some(i, 1, 10.0 * gain)[0] for i in (0, 1)]
    return cold, [some(i, 8, 10.0) for i in (2, 3)], [some(i, 7, 0.5) for i in (0, 1)]


@pytest.mark.parametrize(("own", "shared"), [(0.02, 0.0), (0.02, 0.01), (0.01, 0.02), (0.0, 0.05), (0.2, 0.05)])
def test_equal_arms_are_outside_of_it_in_five_of_a_hundred(own, shared):
    rng = np.random.default_rng(1)
    outside = sum(not floor(*drawn(rng, own, shared)).within for _ in range(500)) / 500
    assert outside <= 0.082  # Satterthwaite's is an approximation: 6 % in the worst, and two standard errors


def test_a_cold_request_half_as_slow_again_is_outside_of_it():
    rng = np.random.default_rng(2)
    assert sum(not floor(*drawn(rng, 0.02, 0.01, 1.5)).within for _ in range(200)) >= 190


def test_with_noise_of_requests_alone_it_is_students_interval_of_values_to_come():
    """By scipy: the replays have equal means, so two new values stand against 16 in logarithms."""
    logs = np.array([0.01, -0.01, 0.02, -0.02, 0.03, -0.03, 0.005, -0.005])
    others = [list(np.exp(logs)), list(np.exp(logs[::-1]))]
    variance = (logs**2).sum() * 2 / 14
    half = stats.t.ppf(0.975, 14) * np.sqrt(variance * (1 / 2 + 1 / 16 - 1 / 8))
    assert floor([1.0, 1.0], others).band == pytest.approx((np.exp(-half), np.exp(half)))


@pytest.mark.parametrize(
    ("cold", "others"), [([1.0], [[1.0] * 8] * 2), ([1.0] * 2, [[1.0] * 8]), ([1.0] * 2, [[1.0] * 2] * 2)]
)
def test_too_few_have_no_floor(cold, others):
    assert floor(cold, others) is None


# -- the requests ------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 0.4, 1, 3])
def test_the_scale_cuts_requests_and_never_the_prefix(scale):
    sent, control = prefix.STUDY.requests(scale), prefix.STUDY.control.requests(scale)
    assert (len(sent), len(control)) == {0.1: (6, 2), 0.4: (8, 4), 1: (20, 10), 3: (60, 30)}[scale]
    systems = {request.body["messages"][0]["content"] for request in sent}
    assert len(systems) == 1 and len(systems.pop().split()) >= 3840  # and a full stop every 15 words
    assert len({request.body["messages"][1]["content"] for request in sent}) == len(sent)
    broken = [request.body["messages"][0]["content"] for request in control]
    # Within the first 16 tokens, the smallest block, no two of them are alike.
    assert len({text[:20] for text in broken}) == len(broken)
    assert all(text.partition("\n")[2] == sent[0].body["messages"][0]["content"] for text in broken)
