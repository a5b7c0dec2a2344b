"""Several engines and API servers behind one URL, over the names of vLLM's versions.

The texts of a real two-engine server are made by ``captured/make.py``; the odd ones here are written by hand.
"""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tui.engine import applied
from tui.metrics.scrape import EngineSample, Scrape, read
from tui.metrics.window import Window
from tui.session.result import build_result
from tui.session.state import EngineRecord, RunRecord
from tui.traffic.outcome import Outcome

CAPTURED = Path(__file__).parent / "captured"
ODD = 'org/a}b,{c} \\"d\\" engine=\\"9\\"'  # a model's name with all that a careless reader splits at
BY_HAND = f"""\
vllm:kv_cache_usage_perc{{engine="0",model_name="{ODD}"}} 0.7
vllm:kv_cache_usage_perc{{engine="1",model_name="{ODD}"}} 0.9
vllm:num_requests_running{{engine="0",model_name="{ODD}"}} 3.0
vllm:num_requests_running{{engine="1",model_name="{ODD}"}} 2.0
vllm:prompt_tokens_total{{engine="0",model_name="{ODD}"}} 100.0
vllm:prompt_tokens_total{{engine="1",model_name="{ODD}"}} 40.0
vllm:prompt_tokens_created{{engine="1",model_name="{ODD}"}} 1.7e+09
vllm:num_preemptions_total{{engine="1",model_name="{ODD}"}} 5.0
"""


def test_counters_are_summed_and_usage_is_the_fullest_engines_whose_name_is_told():
    scrape = read(BY_HAND, 1.0)
    assert scrape.total("prompt_tokens") == 140 and scrape.running == 5
    assert scrape.kv_usage == 0.9  # neither 1.6, a sum, nor 0.7, the first engine's, nor 0.8, a mean
    assert (scrape.hottest.engine, scrape.hottest.preemptions) == ("1", 5)
    assert scrape.total("generation_tokens") is None and Scrape(1.0).hottest is None


def test_the_order_of_lines_and_engines_changes_nothing():
    assert read("\n".join(reversed(BY_HAND.splitlines())), 1.0) == read(BY_HAND, 1.0)


VERSIONS = {
    "0.6.6": """\
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:num_preemptions_total{model_name="m"} 1.0
vllm:time_per_output_token_seconds_count{model_name="m"} 9.0
""",
    "0.8.5": """\
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:gpu_prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:num_preemptions_total{engine="0",model_name="m"} 1.0
vllm:time_per_output_token_seconds_count{engine="0",model_name="m"} 9.0
""",
    "0.10.2": """\
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:gpu_prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:num_preemptions_total{engine="0",model_name="m"} 1.0
vllm:time_per_output_token_seconds_count{engine="0",model_name="m"} 9.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 9.0
""",
    "0.12 to 0.33": """\
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:external_prefix_cache_queries_total{engine="0",model_name="m"} 7.0
vllm:num_preemptions_total{engine="0",model_name="m"} 1.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 9.0
vllm:kv_block_lifetime_seconds_sum{engine="0",model_name="m"} 12.0
vllm:kv_block_lifetime_seconds_count{engine="0",model_name="m"} 3.0
""",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_under_the_same_names_and_what_it_lacks_is_unknown(version):
    (engine,) = read(VERSIONS[version], 1.0).engines
    assert (engine.kv_usage, engine.preemptions, engine.itl_count) == (0.25, 1, 9)
    cached = (None, None) if version == "0.6.6" else (100, 40)  # that one has only a gauge of the rate
    assert (engine.prefix_queries, engine.prefix_hits) == cached
    assert engine.kv_lifetime_count == (3 if version.endswith("0.33") else None)


def test_block_times_are_means_over_what_was_evicted_in_the_window():
    def at(t: float, count: int, total: float) -> Scrape:
        sample = EngineSample("0", kv_lifetime_count=count, kv_lifetime_sum_s=total, kv_idle_count=count,
                              kv_idle_sum_s=total / 2, kv_reuse_gap_count=0, kv_reuse_gap_sum_s=0.0)  # fmt: skip
        return Scrape(t, (sample,))

    window = Window.over([at(0, 2, 10.0), at(5, 6, 50.0)])
    assert (window.kv_lifetime_s, window.kv_idle_s, window.kv_reuse_gap_s) == (10.0, 5.0, None)


# API servers; only with several of them vLLM's metrics come from a folder that all of them write into.
PAIRS = ("two",)


def captured(servers: str, moment: str) -> str:
    return (CAPTURED / f"two-engines-{servers}-{moment}.txt").read_text()


def value(text: str, name: str, engine: str) -> float | None:
    """None where there is no such sample: before its first step an engine has no gauge in that folder."""
    found = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and sample.labels.get("engine") == engine
    ]
    return sum(found) if found else None


@pytest.mark.parametrize("servers", PAIRS)
@pytest.mark.parametrize("moment", ["idle", "busy", "used"])
def test_a_real_two_engine_page_reads_as_prometheus_client_reads_it(servers, moment):
    text = captured(servers, moment)
    scrape = read(text, 1.0)
    assert [e.engine for e in scrape.engines] == ["0", "1"]
    for e in scrape.engines:
        assert e.running == value(text, "vllm:num_requests_running", e.engine)
        assert e.kv_usage == value(text, "vllm:kv_cache_usage_perc", e.engine)
        assert e.prompt_tokens == value(text, "vllm:prompt_tokens_total", e.engine)
        assert e.prefix_hits == value(text, "vllm:prefix_cache_hits_total", e.engine)
        assert e.spec_drafts == value(text, "vllm:spec_decode_num_drafts_total", e.engine)
        assert e.kv_lifetime_count == value(text, "vllm:kv_block_lifetime_seconds_count", e.engine)
        assert e.kv_idle_sum_s == value(text, "vllm:kv_block_idle_before_evict_seconds_sum", e.engine)
    assert scrape.total("prompt_tokens") == sum(value(text, "vllm:prompt_tokens_total", e) or 0 for e in "01")


def test_a_gauge_that_is_not_there_yet_is_unknown_and_never_zero():
    idle = read(captured("two", "idle"), 1.0)
    assert idle.kv_usage is None and idle.hottest is None and idle.running is None
    assert idle.total("prompt_tokens") == 0


@pytest.mark.parametrize("servers", PAIRS)
def test_the_engine_that_works_is_the_hottest_and_no_usage_is_above_one(servers):
    busy = read(captured(servers, "busy"), 1.0)
    assert busy.hottest.engine == "1" and busy.hottest.running == 3
    assert 0 < busy.kv_usage <= 1 and busy.kv_usage == busy.engine("1").kv_usage
    assert busy.engine("0").running == 0


@pytest.mark.parametrize("servers", PAIRS)
def test_the_pool_is_told_for_each_engine_and_summed_over_both(servers):
    text = captured(servers, "used")
    caches = applied.cache_infos(text)
    assert len(caches) == 2
    assert caches[0]["num_gpu_blocks"] == "80"  # vLLM sums this one over its engines, and repeats it for each
    both = applied.interpret({}, caches, None, None, None)
    each = int(read(text, 1.0).engines[0].cache_config["kv_cache_size_tokens"])
    assert both.kv_cache_tokens == 2 * each and both.engines == 2


@pytest.mark.parametrize("servers", PAIRS)
def test_a_run_over_two_engines_has_a_row_for_each_and_evictions_of_the_crowded_one(servers):
    scrapes = [read(captured(servers, moment), 100.0 + 10 * n) for n, moment in enumerate(("idle", "busy", "used"))]
    record = RunRecord(1, 1, "", 99.0, "done", 1, {}, {}, "closed:1", scrapes=scrapes)
    engine = EngineRecord(1, "ready", 0.0, 0.0, block_size=128, kv_cache_tokens=2 * 5_120, engines=2)
    outcome = Outcome("a", None, "ok", 0.0, 0.0, ttft_s=1.0, e2e_s=2.0, prompt_tokens=500, output_tokens=8)
    kv = build_result(record, engine, [outcome])["kv_cache"]
    assert [row["engine"] for row in kv["engines"]] == ["1", "0"]
    first, second = kv["engines"]
    assert first["usage_peak"] == kv["usage_peak"] > (second["usage_peak"] or 0.0)
    assert second["prompt_tokens"] > first["prompt_tokens"]
    assert kv["residency"]["blocks"] > 0 and kv["residency"]["lifetime_s"] > 0
    assert kv["blocks"] == 40  # of one engine, as the usage is
