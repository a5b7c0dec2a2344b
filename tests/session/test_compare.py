"""What is compared with what, in which words, and why."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from made_replays import Noise, outcome, plan, replays, result, times

from tui.engine import profile as profiles
from tui.errors import VtuneError
from tui.session.compare import Plan, comparison
from tui.session.compare.pairing import Replayed, classes, pair
from tui.session.compare.plan import estimate, parse_vary
from tui.session.compare.summary import lines
from tui.session.traffic import traffic_of

QUIET = Noise(request=0.02, drift=0.003)


def made(gain: float = 1.0, arms: int = 2, rounds: int = 1, requests: int = 32, **changes) -> list[Replayed]:
    ttft, tpot = times(QUIET, np.random.default_rng(11), arms, rounds, requests, gain)
    return replays(ttft, tpot, arms, rounds, **changes)


def told(found: list[Replayed], number: int, **changes) -> list[Replayed]:
    """With the result of one replay changed, block by block."""
    blocks = {block: found[number].result[block] | values for block, values in changes.items()}
    return [replace(r, result=dict(r.result) | blocks) if i == number else r for i, r in enumerate(found)]


def row(found: dict, metric: str = "ttft_s.p50", split: str = "all", arm: str = "B") -> dict:
    (wanted,) = [r for r in found["verdicts"] if (r["metric"], r["split"], r["arm"]) == (metric, split, arm)]
    return wanted


# -- the plan ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("chunked-prefill=off,2048,512/256", ("chunked-prefill", ("off", "2048", "512/256"))),
        ("engine.python=/a, /b", ("engine.python", ("/a", "/b"))),
        ('raw.x={"a": 1, "b": [2,3]},off', ("raw.x", ('{"a": 1, "b": [2,3]}', "off"))),
        (r"raw.x=a\,b,c", ("raw.x", ("a,b", "c"))),
        (r"raw.x=a\d,c=d", ("raw.x", (r"a\d", "c=d"))),
        ("raw.x='a,b',c", ("raw.x", ("'a,b'", "c"))),
    ],
)
def test_commas_part_values_except_where_they_belong_to_one(words, wanted):
    assert parse_vary(words) == wanted


@pytest.mark.parametrize(
    ("vary", "what"),
    [
        ([], "fewer than two arms"),
        (["prefix-caching=on"], "fewer than two arms"),
        (["prefix-caching"], "no LEVER=A,B"),
        (["prefix-caching=on,,off"], "no LEVER=A,B"),
        (["prefix-caching=on,maybe"], "--vary"),
        (["turbo=on,off"], "turbo"),
        (["max-num-seqs=1,2", "max-num-seqs=3,4"], "varied twice"),
    ],
)
def test_what_can_not_be_compared_is_refused(standin_profile, vary, what):
    with pytest.raises(VtuneError, match=what):
        Plan.of(profiles.load(str(standin_profile)), vary, 1, 0)


def test_rounds_and_seed_are_numbers_that_can_be(standin_profile):
    for rounds, seed, what in ((0, 0, "--rounds"), (1, -1, "--seed")):
        with pytest.raises(VtuneError, match=what):
            Plan.of(profiles.load(str(standin_profile)), ["max-num-seqs=1,2"], rounds, seed)


def test_two_levers_make_every_combination_in_a_mirrored_order(standin_profile):
    profile = profiles.load(str(standin_profile))
    found = Plan.of(profile, ["prefix-caching=on,off", "max-num-seqs=64,32"], 2, 0)
    names = [arm.name for arm in found.arms]
    assert names == ["prefix-caching=on max-num-seqs=64", "prefix-caching=on max-num-seqs=32",
                     "prefix-caching=off max-num-seqs=64", "prefix-caching=off max-num-seqs=32"]  # fmt: skip
    assert [(number, arm.name) for number, arm in found.replays()] == [
        (number, name) for number in (1, 2) for name in [*names, *names[::-1]]
    ]
    assert found.arms[3].profile.levers["max-num-seqs"] == "32"
    # No starter and nobody parked: whichever arm comes first has no advantage.
    assert {(a.profile.engine.warm, a.profile.engine.park, a.profile.engine.head_start) for a in found.arms} == {
        (False, 0, False)
    }


def test_the_same_arm_twice_is_a_against_a(standin_profile):
    found = Plan.of(profiles.load(str(standin_profile)), ["max-num-seqs=64,64,64"], 1, 0)
    assert [arm.name for arm in found.arms] == ["max-num-seqs=64", "max-num-seqs=64 (2)", "max-num-seqs=64 (3)"]


def test_a_secret_that_is_varied_is_written_nowhere(standin_profile):
    profile = profiles.load(str(standin_profile))
    found = Plan.of(profile, ["raw.store-password=hf_one,hf_two"], 1, 0)
    assert "hf_" not in json.dumps(found.event(traffic_of(profile)))
    assert [arm.profile.raw["store-password"] for arm in found.arms] == ["hf_one", "hf_two"]


def test_the_estimate_says_what_it_does_not_know(standin_profile):
    profile = profiles.load(str(standin_profile))
    found = Plan.of(profile, ["max-num-seqs=64,32"], 1, 0)
    closed = estimate(found, traffic_of(profile))
    assert (closed.replays, closed.replay_s, closed.total_s) == (4, None, None)
    recorded = estimate(found, traffic_of(profile, pace="recorded", speed=0.5))
    assert recorded.replay_s == pytest.approx(0.5)  # 6 requests, 0.05 s apart, at half speed


# -- who stands against whom ---------------------------------------------------------------------


def test_a_request_keeps_the_class_that_it_had_with_caching_on():
    off = {"prefix_cache": {"state": "off", "hits": None, "hit_rate": None}}
    found = made()
    cold = [replace(r, ok={i: replace(o, cached_tokens=None) for i, o in r.ok.items()}) for r in found]
    mixed = [told(cold if r.arm == "A" else found, n, **off if r.arm == "A" else {})[n] for n, r in enumerate(found)]
    of_request = classes(mixed, "A")
    assert of_request["r000"] == "cold" and of_request["r001"] == "warm"
    seen = comparison(plan(), mixed)
    assert row(seen, split="cold")["n"] == 8 and row(seen, split="warm")["n"] == 24
    assert row(seen, split="group:short")["n"] == 16


def test_requests_with_long_prompts_are_judged_apart():
    """Six of 32 have three times the median's prompt, and an arm that is slower for them says so as its cost."""
    ttft, tpot = times(QUIET, np.random.default_rng(14))
    ttft[1:3, :6] *= 2.0
    found = [
        replace(r, ok={i: replace(o, prompt_tokens=3000) if n < 6 else o for n, (i, o) in enumerate(r.ok.items())})
        for r in replays(ttft, tpot)
    ]
    seen = comparison(plan(), found)
    assert (row(seen, split="long")["n"], row(seen, split="long")["word"]) == (6, "slower")
    assert any(words.startswith("TTFT p50 of long requests x") for words in seen["arms"][1]["costs"])
    assert not [r for r in comparison(plan(), made())["verdicts"] if r["split"] == "long"]


def test_only_requests_that_succeeded_everywhere_are_compared():
    found = made()
    lost = replace(found[2], ok={i: o for i, o in found[2].ok.items() if i != "r005"})
    assert row(comparison(plan(), [*found[:2], lost, found[3]]))["n"] == 31


def test_rounds_that_are_not_complete_do_not_count():
    found = made(rounds=2)
    cut = [*found[:6], replace(found[6], whole=False)]
    pairing = pair("B", "A", cut)
    assert pairing.mirrored and [r.number for r in pairing.replays] == [2, 3, 1, 4]


def test_what_was_measured_before_an_interruption_is_compared_as_far_as_it_goes():
    found = comparison(plan(), made(gain=2.0)[:2])
    first = row(found)
    assert first["word"] == "too few" and first["ratio"] == pytest.approx(2.0, rel=0.1) and first["ci"] is None
    assert "1 whole round would do" in first["why"] and not found["complete"]
    assert found["noise_floor"]["ttft_s.p50"] == {"ratio": None, "ci": None}
    nothing = comparison(plan(), made()[:1])
    assert row(nothing)["word"] == "too few" and row(nothing)["ratio"] is None
    assert comparison(plan(), [])["verdicts"][0]["word"] == "too few"


# -- the words -----------------------------------------------------------------------------------


def test_slower_and_faster_say_what_they_measured():
    found = comparison(plan(), made(gain=1.5))
    slower = row(found)
    assert slower["word"] == "slower" and slower["ci"][0] < 1.5 < slower["ci"][1] and slower["ci"][0] > 1
    assert slower["difference_ci"][0] < slower["difference"] < slower["difference_ci"][1]
    assert row(found, "tpot_s.p50")["word"] == "no difference seen"
    throughput = row(found, "throughput.output_tokens_per_s")
    assert throughput["word"] == "slower" and throughput["ratio"] < 1
    assert row(comparison(plan(), made(gain=0.7)))["word"] == "faster"


def test_the_ratio_is_that_of_the_medians():
    found = made(gain=1.5)
    medians = [np.median([o.ttft_s for o in r.ok.values()]) for r in found]
    wanted = math.sqrt(medians[1] * medians[2]) / math.sqrt(medians[0] * medians[3])
    assert row(comparison(plan(), found))["ratio"] == pytest.approx(wanted)


def test_too_few_says_how_many_would_do():
    found = comparison(plan(), made(gain=1.5, requests=12))
    tail = row(found, "ttft_s.p95")
    assert (tail["word"], tail["n"]) == ("too few", 12) and "20 would do" in tail["why"]
    assert row(found)["word"] == "slower"


def test_no_verdict_goes_beyond_its_interval_or_without_one():
    for gain in (0.8, 0.97, 1.0, 1.05, 1.5):
        for r in comparison(plan(3, 2), made(gain=gain, arms=3, rounds=2))["verdicts"]:
            if r["word"] in ("faster", "slower"):
                assert not r["ci"][0] <= 1 <= r["ci"][1] and r["p"] <= 0.05
            elif r["word"] == "no difference seen":
                assert r["p"] > 0.05 or r["ci"][0] <= 1 <= r["ci"][1]


def test_noise_of_the_replays_hides_what_the_requests_alone_would_show():
    """Every replay of B 20 % slower, but two replays of an arm differ by as much: no claim."""
    ttft, tpot = times(Noise(request=0.01, drift=0.0), np.random.default_rng(12))
    ttft *= np.array([[1.0], [1.2], [1.45], [1.2]])
    found = comparison(plan(), replays(ttft, tpot))
    assert row(found)["word"] == "no difference seen"
    assert found["noise_floor"]["ttft_s.p50"]["ratio"] > 1.15


def test_even_drift_cancels_in_the_mirrored_order():
    ttft, tpot = times(Noise(request=0.01, drift=0.0), np.random.default_rng(13))
    ttft *= np.array([[1.0], [1.1], [1.21], [1.331]])
    assert row(comparison(plan(), replays(ttft, tpot)))["ratio"] == pytest.approx(1.0, abs=0.02)


def test_the_same_seed_gives_the_same_comparison():
    assert comparison(plan(), made()) == comparison(plan(), made())


def test_different_answers_make_times_of_whole_answers_incomparable():
    found = made()
    longer = replace(found[1], ok=found[1].ok | {"r003": outcome(3, 0.2, 0.03, length=40)})
    seen = comparison(plan(), [found[0], longer, *found[2:]])
    flag = "output lengths differ in 1 of 32 requests"
    assert flag in row(seen, "e2e_s.p50")["flags"] and flag in row(seen, "throughput.output_tokens_per_s")["flags"]
    assert not row(seen, "ttft_s.p50")["flags"]


def test_throughput_at_a_given_rate_is_no_figure_of_the_engine():
    found = made(pace={"mode": "recorded"})
    assert row(comparison(plan(), found), "throughput.output_tokens_per_s")["flags"] == ["the pace sets it (recorded)"]


# -- why -----------------------------------------------------------------------------------------

ON = {"prefix_cache": {"state": "on", "hits": 19200, "hit_rate": 0.6, "ceiling": 0.62}}
OFF = {"prefix_cache": {"state": "off", "hits": 0, "hit_rate": None, "ceiling": 0.62}}
NO_HITS = {"prefix_cache": {"state": "on", "hits": 0, "hit_rate": 0.0, "ceiling": 0.62}}


def arms_told(found: list[Replayed], base: dict, arm: dict) -> list[Replayed]:
    for number, replay in enumerate(found):
        found = told(found, number, **(base if replay.arm == "A" else arm))
    return found


def of_lever(name: str, **changes) -> dict:
    arms = [{"name": arm, "settings": [f"{name}={arm}"]} for arm in "AB"]
    return plan(arms=2, **changes) | {"vary": [f"{name}=A,B"], "arms": arms}


def test_a_gain_is_explained_by_what_moved():
    found = comparison(of_lever("prefix-caching"), arms_told(made(gain=0.2), OFF, ON))
    gain = row(found)
    assert gain["word"] == "faster" and not gain["flags"]
    assert "hit rate from off to 60.0 % of 62.0 % possible" in gain["why"]
    assert "cached tokens a request from 0 to 600" in gain["why"]


def test_a_gain_whose_cause_did_not_move_is_suspicious():
    found = comparison(of_lever("prefix-caching"), arms_told(made(gain=0.2), OFF, NO_HITS))
    assert row(found)["flags"] == ["suspicious"] and "hit rate from off to 0.0 %" in row(found)["why"]
    # Whatever else moved: prefix caching has no other way to a faster first token.
    quick = {"server": {"prefill_s": {"p50": 0.01}}}
    found = comparison(of_lever("prefix-caching"), arms_told(made(gain=0.2), OFF, NO_HITS | quick))
    assert row(found)["flags"] == ["suspicious"]
    found = comparison(of_lever("max-num-seqs"), arms_told(made(gain=0.2), {}, quick))
    assert not row(found)["flags"] and row(found)["why"] == "prefill p50 from 0.20 s to 10 ms"


def test_the_batch_size_of_a_step_and_memory_of_a_gpu_are_among_what_moves():
    full = {"steps": {"n": 90, "requests": 6.0, "tokens": 300.0}, "memory": {"gpu_used_bytes": 4 << 30}}
    half = {"steps": {"n": 200, "requests": 3.0, "tokens": 140.0}, "memory": {"gpu_used_bytes": 2 << 30}}
    (_, arm) = comparison(plan(), arms_told(made(), half, full))["arms"]
    words = [move["words"] for move in arm["moved"]]
    assert "batch size a step from 3.00 to 6.00" in words and "tokens in a step from 140 to 300" in words
    assert "GPU memory from 2.00 GiB to 4.00 GiB" in arm["costs"]


def test_what_an_arm_costs_is_said():
    dear = {"engine": {"kv_cache_tokens": 30_000}, "memory": {"engine_pss_peak_bytes": 3 << 30}}
    (_, arm) = comparison(plan(), arms_told(made(gain=1.5), {}, dear))["arms"]
    assert arm["costs"][:2] == ["KV cache tokens from 40,000 to 30,000", "memory peak from 2.00 GiB to 3.00 GiB"]
    assert any(words.startswith("TTFT p50 of cold requests x1.") for words in arm["costs"])


def test_fixed_lengths_forbid_words_on_acceptance():
    spec = {"speculative": {"state": "on", "acceptance_rate": 0.7, "mean_acceptance_length": 3.0}}
    for fixed in (False, True):
        found = comparison(of_lever("speculative", fix_lengths=fixed), arms_told(made(), {}, spec))
        names = [move["name"] for move in found["arms"][1]["moved"]]
        assert ("acceptance" in names) is not fixed
        assert any("acceptance is not judged" in words for words in found["caveats"]) is fixed


def test_unlike_starts_and_levers_varied_together_are_caveats():
    warm = {"engine": {"start_kind": "warm"}}
    both = plan() | {"vary": ["prefix-caching=on,off", "max-num-seqs=1,2"]}
    found = comparison(both, arms_told(made(), {}, warm))
    assert any("not all started the same way: plain, warm" in words for words in found["caveats"])
    assert any("varied together" in words for words in found["caveats"])


def test_a_start_that_could_not_be_had_is_told():
    found = comparison(plan(start="warm"), made())
    assert found["start"] == "plain"
    assert "warm starts were asked for, and the engines were started plain" in found["caveats"]
    assert not any("asked for" in words for words in comparison(plan(), made())["caveats"])


def test_targets_are_judged_by_arm():
    met, missed = ([{"name": "ttft-p95", "limit": 1.0, "value": v, "met": v <= 1.0}] for v in (0.5, 2.0))
    found = made()
    told_so = [replace(r, result=dict(r.result) | {"targets": missed if r.number == 3 else met}) for r in found]
    arms = comparison(plan(), told_so)["arms"]
    assert [arm["targets"][0]["met"] for arm in arms] == [True, False]
    assert arms[1]["targets"][0]["value"] == pytest.approx(1.25)


def test_the_object_is_as_the_format_has_it_and_is_json():
    found = comparison(plan(3), made(arms=3))
    assert found["schema"] == "vtune.comparison/1" and found["order"] == list("ABCCBA")
    assert {"arms", "baseline", "rounds", "order", "seed", "noise_floor", "verdicts", "output_check"} <= set(found)
    assert all({"name", "levers", "runs"} <= set(arm) for arm in found["arms"])
    assert all({"arm", "metric", "split", "word", "ratio", "ci", "n", "why"} <= set(r) for r in found["verdicts"])
    assert set(found["noise_floor"]) == {
        "ttft_s.p50", "ttft_s.p95", "tpot_s.p50", "e2e_s.p50", "throughput.output_tokens_per_s"
    }  # fmt: skip
    json.dumps(found, allow_nan=False)
    assert any("TTFT p50, all" in line for line in lines(found)) and result()["requests"]["ok"] == 32
