"""vtune.run/1: every key, definitions as designed, unknown never zero."""

import json
from dataclasses import replace

import made_session
import pytest
from made_session import cold, outcome, warm

from tui.engine.settings import Target
from tui.metrics.scrape import EngineSample, Scrape
from tui.session import state as states
from tui.session.result import build_result, paired_ratios, result_of
from tui.session.state import EngineRecord, RunRecord
from tui.traffic.replay.runfile import read_outcomes


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = made_session.whole(tmp_path_factory.mktemp("session"))
    state = states.load(folder)
    outcomes = {n: read_outcomes(folder / f"run-{n}.jsonl") for n in state.runs}
    return state, {n: rows for n, (_, rows, _) in outcomes.items()}, {n: end for n, (_, _, end) in outcomes.items()}


@pytest.fixture(scope="module")
def results(session):
    state, outcomes, ends = session
    return {n: result_of(state, n, outcomes[n], ends[n]) for n in state.runs}


def run(**changes) -> RunRecord:
    values = {
        "number": 1, "engine": 1, "label": "", "started_at": 100.0, "state": "done", "total": 1, "recording": {},
        "pace": {}, "pace_text": "closed:4", "cache_reset": "done",
    }  # fmt: skip
    return RunRecord(**values | changes)


def engine(**applied) -> EngineRecord:
    return EngineRecord(1, "ready", 0.0, 0.0, applied={k.replace("_", "-"): v for k, v in applied.items()})


KEYS = {
    "": ["schema", "id", "label", "session", "started_at", "duration_s", "recording", "engine", "pace", "in_flight",
         "cache_reset", "requests", "ttft_s", "tpot_s", "itl_s", "e2e_s", "output_tokens", "server", "queueing",
         "groups", "throughput", "goodput", "prefix_cache", "speculative", "kv_cache", "steps", "memory", "fidelity",
         "targets",
         "caveats"],
    "recording": ["name", "sha256", "requests", "prompt_tokens", "synthetic"],
    "engine": ["vllm", "model", "device", "argv", "start_kind", "start_s", "asked", "applied", "mismatches",
               "block_size", "kv_cache_tokens", "warnings"],
    "pace": ["mode", "speed", "concurrency", "rate"],
    "in_flight": ["mean", "peak", "idle_s"],
    "requests": ["sent", "ok", "failed", "cancelled", "error_rate", "errors"],
    "ttft_s": ["all", "cold", "partial", "warm", "unknown"],
    "server": ["queue_s", "prefill_s", "decode_s"],
    "throughput": ["requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s"],
    "prefix_cache": ["state", "queries", "hits", "hit_rate", "client_hit_rate", "ceiling", "lost", "pools", "turns",
                     "ceilings"],
    "speculative": ["state", "method", "drafts", "draft_tokens", "accepted_tokens", "acceptance_rate",
                    "mean_acceptance_length", "per_position", "tokens_per_step", "draft_kv_tokens", "copied"],
    "kv_cache": ["usage_peak", "usage_mean", "preemptions", "tokens", "block_size", "blocks", "blocks_used_peak",
                 "partial_blocks", "longest", "would_hold", "predicted", "residency", "engines"],
    "memory": ["engine_pss_peak_bytes", "gpu_used_bytes"],
    "fidelity": [
        "send_lag_s", "connect_s", "clock", "clock_steps", "coalesced_events", "late_reads", "scan_mismatches",
        "busy_retries", "paused_s", "replayer_cpu_share", "ticks_dropped",
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["whole", "empty"])
def test_every_key_is_there_even_when_nothing_is_known(results, kind):
    result = results[2] if kind == "whole" else build_result(run(pace_text=""), None, [])
    for name, keys in KEYS.items():
        assert list(result[name] if name else result) == keys
    json.dumps(result, allow_nan=False)


def test_nothing_known_is_none_and_never_zero():
    result = build_result(run(pace_text="", cache_reset=None), None, [])
    assert result["duration_s"] is None
    for block in ("throughput", "in_flight", "kv_cache", "memory"):
        assert set(result[block].values()) == {None}
    assert {k: v for k, v in result["prefix_cache"].items() if v is not None} == {"state": "unknown"}
    assert {k: v for k, v in result["speculative"].items() if v not in (None, [])} == {"state": "unknown"}
    assert result["ttft_s"]["all"]["p50"] is None


def test_cold_partial_and_warm_are_apart(results):
    ttft = results[2]["ttft_s"]
    assert [ttft[reuse]["n"] for reuse in ("cold", "partial", "warm", "unknown", "all")] == [8, 1, 15, 0, 24]
    assert ttft["partial"]["p50"] == 1.5
    assert ttft["cold"]["min"] == cold(0) and ttft["warm"]["min"] == warm(1)
    assert ttft["cold"]["p95"] is None and ttft["all"]["p95"] is not None


def test_off_is_a_state_and_no_rate(results):
    prefix = results[1]["prefix_cache"]
    assert prefix["state"] == "off"
    assert prefix["hit_rate"] is prefix["client_hit_rate"] is None
    speculative = results[1]["speculative"]
    assert (speculative["state"], speculative["method"], speculative["acceptance_rate"]) == ("off", None, None)
    assert speculative["per_position"] == []


def test_hit_rate_of_the_engine_agrees_with_the_answers_and_leaves_the_warm_up_out(results):
    prefix = results[2]["prefix_cache"]
    prompt = sum(1024 + 8 * i for i in range(24))
    assert prefix["state"] == "on" and prefix["queries"] == prompt
    assert prefix["hit_rate"] == prefix["client_hit_rate"] == prefix["hits"] / prompt
    assert prefix["ceiling"] == 0.62
    assert not any("hit rate" in words for words in results[2]["caveats"])


def test_speculation_over_the_run_and_by_group(results):
    speculative, groups = results[3]["speculative"], results[3]["groups"]
    accepted = 11 * 10 + 10 * 2
    assert (speculative["state"], speculative["method"]) == ("on", "ngram")
    assert speculative["acceptance_rate"] == accepted / (21 * 16)
    assert speculative["mean_acceptance_length"] == 1 + accepted / (21 * 4)
    assert speculative["per_position"] == [(accepted // 2) / 84, (accepted // 4) / 84]
    assert speculative["tokens_per_step"] == 1.0
    assert groups["extract"]["acceptance_rate"] == 10 / 16
    assert groups["write"]["acceptance_rate"] == 2 / 16
    assert groups["extract"]["tpot_s"]["p50"] == pytest.approx(0.014)
    assert groups["write"]["n"] == 10


def test_failures_are_counted_by_kind_with_an_example_and_left_out_of_times(results):
    requests = results[3]["requests"]
    assert (requests["sent"], requests["ok"], requests["failed"], requests["cancelled"]) == (24, 21, 3, 0)
    assert [(e["kind"], e["count"]) for e in requests["errors"]] == [("timeout", 2), ("http 400", 1)]
    assert requests["errors"][0]["example"] == "no content within 600 s"
    assert results[3]["ttft_s"]["all"]["n"] == 21


def test_a_request_cancelled_before_it_was_written_was_not_sent():
    rows = [
        outcome(0, 1.0, 0),
        outcome(1, 1.0, 0, status="cancelled", sent_s=None, ttft_s=None, e2e_s=None),
        outcome(2, 1.0, 0, status="cancelled", ttft_s=None, e2e_s=None),
    ]
    requests = build_result(run(), None, rows)["requests"]
    assert (requests["sent"], requests["ok"], requests["cancelled"]) == (2, 1, 2)


def test_throughput_and_flight_are_over_the_time_of_the_run():
    # Two requests overlap from 1 s to 2 s; the third follows at once: 4 s of requests in 3 s.
    def one(i: int, begin: float, seconds: float):
        return outcome(i, 0.5, 0, begin=begin, sent_s=begin, e2e_s=seconds, prompt_tokens=30, output_tokens=6)

    result = build_result(run(), None, [one(0, 0.0, 2.0), one(1, 1.0, 1.0), one(2, 2.0, 1.0)])
    assert result["duration_s"] == 3.0
    assert result["in_flight"] == {"mean": pytest.approx(4 / 3), "peak": 2, "idle_s": 0.0}
    assert result["throughput"] == {"requests_per_s": 1.0, "prompt_tokens_per_s": 30.0, "output_tokens_per_s": 6.0}
    assert any("up to 2 requests ran at a time" in words for words in result["caveats"])


def test_targets_are_judged_and_unknown_is_neither_met_nor_missed(results):
    assert [(t["name"], t["met"]) for t in results[1]["targets"]] == [
        ("ttft-p95", False), ("tpot-p95", True), ("error-rate", True), ("hit-rate", None),
    ]  # fmt: skip
    assert results[3]["targets"][2] == {"name": "error-rate", "limit": 0.01, "value": 3 / 24, "met": False}
    few = build_result(run(), None, [outcome(0, 9.0, 0)], targets=[Target("ttft-p95", "ttft_s.all.p95", 2.0)])
    assert few["targets"] == [{"name": "ttft-p95", "limit": 2.0, "value": None, "met": None}]


def test_goodput_counts_requests_within_every_time_limit():
    targets = [Target("ttft-p95", "ttft_s.all.p95", 1.0), Target("tpot-p95", "tpot_s.p95", 0.05)]
    rows = [
        outcome(0, 0.5, 0), outcome(1, 1.5, 0), outcome(2, 0.5, 0, tpot=0.06),
        made_session.failed(3, "timeout", "late"), outcome(4, 0.5, 0, output_tokens=1),
        outcome(5, 0.1, 0, status="cancelled"),
    ]  # fmt: skip
    result = build_result(run(), None, rows, targets=targets)
    assert result["goodput"]["share"] == 2 / 5
    assert build_result(run(), None, rows)["goodput"] == {"share": None, "requests_per_s": None}


def test_kv_usage_is_weighed_by_time_and_its_peak_is_of_the_fullest_engine():
    def at(t: float, *usage: float) -> Scrape:
        return Scrape(t, tuple(EngineSample(str(i), kv_usage=u, preemptions=0) for i, u in enumerate(usage)))

    scrapes = [at(90.0, 0.9), at(100.0, 0.0, 0.0), at(101.0, 0.4, 0.2), at(104.0, 0.1, 0.4), at(120.0, 0.0, 0.0)]
    result = build_result(run(scrapes=scrapes), None, [outcome(0, 3.0, 0, begin=0.0, e2e_s=4.5)])
    # 0 -> 0.4 in 1 s, 0.4 for 3 s; what comes after the last request is idle, what came before is another run's
    kv = result["kv_cache"]
    assert (kv["usage_peak"], kv["usage_mean"], kv["preemptions"]) == (0.4, pytest.approx((0.2 + 1.2) / 4), 0)


def test_states_come_from_the_metrics_where_nothing_was_read_back():
    sample = EngineSample("0", prefix_queries=0, cache_config={"enable_prefix_caching": "False"}, spec_draft_tokens=0)
    scrapes = [Scrape(99.0, (sample,)), Scrape(110.0, (sample,))]
    result = build_result(run(scrapes=scrapes), engine(), [outcome(0, 1.0, 0)])
    assert result["prefix_cache"]["state"] == "off"
    assert (result["speculative"]["state"], result["speculative"]["method"]) == ("on", None)
    assert result["speculative"]["acceptance_rate"] is None


def scraped(queries: int, hits: int, **more) -> list[Scrape]:
    first = EngineSample("0", prefix_queries=0, prefix_hits=0, preemptions=0)
    return [Scrape(99.9, (first,)), Scrape(130.0, (replace(first, prefix_queries=queries, prefix_hits=hits, **more),))]


@pytest.mark.parametrize(
    ("words", "changes", "rows"),
    [
        ("by the engine's counters is 50.0%, by its answers 40.0%", {"scrapes": scraped(1000, 500)},
         [outcome(0, 1.0, 400, prompt_tokens=1000)]),
        ("kept from before the run", {"cache_reset": "kept"}, [outcome(0, 1.0, 0)]),
        ("could not be reset", {"cache_reset": "unavailable"}, [outcome(0, 1.0, 0)]),
        ("not settled", {"start_state": "3 warm-up prompts of 16 tokens: 1.00 s, 2.00 s, 3.00 s, not settled"}, []),
        ("first request had a TTFT of 9.00 s", {}, [outcome(0, 9.0, 0), *(outcome(i, 1.0, 0) for i in range(1, 5))]),
        ("3 preemptions", {"scrapes": scraped(10, 0, preemptions=3)}, [outcome(0, 1.0, 0)]),
        ("1 of 1 answers did not say how much", {}, [outcome(0, 1.0, 0, cached_tokens=None)]),
        ("1 requests were written over 50 ms after", {}, [outcome(1, 1.0, 0, sent_s=4.4)]),
        ("no p90 and p95 under 20", {}, [outcome(0, 1.0, 0)]),
        ("its counters are unknown", {}, [outcome(0, 1.0, 0)]),
        ("1 of 1 requests failed", {}, [made_session.failed(0, "timeout", "late")]),
        ("4 of 16 content events", {}, [outcome(0, 1.0, 0, coalesced=4)]),
    ],
)  # fmt: skip
def test_what_a_reader_has_to_know_is_said(words, changes, rows):
    assert any(words in caveat for caveat in build_result(run(**changes), engine(prefix_caching="on"), rows)["caveats"])


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"clock_steps": 2}, "the wall clock was set 2 x"),
        ({"scan_mismatches": 5}, "5 content events looked otherwise"),
        ({"busy_retries": 3}, "3 times a busy engine was asked again"),
        ({"paused_s": 4.2}, "paused for 4.2 s"),
    ],
)
def test_what_the_replayer_told_is_said(told, words):
    result = build_result(run(), engine(), [outcome(0, 1.0, 0)], {"fidelity": told})
    assert any(words in caveat for caveat in result["caveats"])
    plain = build_result(run(), engine(), [outcome(0, 1.0, 0)], {"fidelity": dict.fromkeys(told, 0)})
    assert not any(words in caveat for caveat in plain["caveats"])


@pytest.mark.parametrize(
    ("end", "words"),
    [(None, "is not over, or was broken off: 1 of 32"), ({"kind": "cancelled"}, "ended early (cancelled): 1 of 32")],
)
def test_a_run_that_did_not_end_by_itself_says_so(end, words):
    result = build_result(run(total=32), None, [outcome(0, 1.0, 0)], end)
    assert any(words in caveat for caveat in result["caveats"])
    done = build_result(run(total=32), None, [outcome(0, 1.0, 0)], {"kind": "done"})
    assert not any("1 of 32" in caveat for caveat in done["caveats"])


def test_time_spent_on_failures_counts(results):
    assert results[3]["duration_s"] == 99.0
    assert results[3]["throughput"]["output_tokens_per_s"] == 21 * 16 / 99.0
    assert results[3]["fidelity"]["clock"] == "kernel"


def test_a_clean_run_has_no_caveats(results):
    assert results[2]["caveats"] == []


def test_ratios_compare_the_same_requests_in_the_class_they_had_with_caching_on(session, results):
    _, outcomes, _ = session
    ratios = paired_ratios(outcomes[2], results[2], outcomes[1], results[1])
    # run 1 calls all requests cold; the 15 that are warm in run 2 are compared with themselves
    warm_ids = [i for i in range(24) if i % 3 and i != 4]
    middle = warm_ids[7]
    assert ratios["ttft_s.warm.p50"] == warm(middle) / cold(middle)
    assert ratios["ttft_s.cold.p50"] == 1.0
    assert ratios["ttft_s.warm.p95"] is None
    assert ratios["tpot_s.p50"] == 1.0
    back = paired_ratios(outcomes[1], results[1], outcomes[2], results[2])
    assert back["ttft_s.warm.p50"] == pytest.approx(1 / ratios["ttft_s.warm.p50"])


def test_the_result_does_not_depend_on_the_order_of_ending(session, results):
    state, outcomes, ends = session
    assert result_of(state, 3, list(reversed(outcomes[3])), ends[3]) == results[3]
