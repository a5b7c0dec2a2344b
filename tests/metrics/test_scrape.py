"""Reading /metrics: the same as prometheus_client's parser, over versions, engines and odd labels."""

import json
import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tui.metrics.exposition import Exposition, parse_labels
from tui.metrics.scrape import NOTHING, EngineSample, Scrape, Scraper, read

CAPTURED = Path(__file__).parent / "captured"
USED = (CAPTURED / "metrics-ngram-used.txt").read_text()
IDLE = (CAPTURED / "metrics-ngram-idle.txt").read_text()
# --data-parallel-size 2 adds the same lines with another label; engine 1 has its own numbers here.
TWO_ENGINES = USED + "".join(
    line.replace('engine="0"', 'engine="1"').rpartition(" ")[0] + f" {number}.5\n"
    for number, line in enumerate(USED.splitlines())
    if 'engine="0"' in line and ("_sum{" in line or "kv_cache_usage" in line or "cache_config" in line)
) + "".join(
    line.replace('engine="0"', 'engine="1"').rpartition(" ")[0] + f" {number}.0\n"
    for number, line in enumerate(USED.splitlines())
    if 'engine="0"' in line and not ("_sum{" in line or "kv_cache_usage" in line or "cache_config" in line)
)

V0_6 = """\
# HELP vllm:num_requests_running Number of requests currently running on GPU.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 2.0
vllm:num_requests_swapped{model_name="m"} 0.0
vllm:num_requests_waiting{model_name="m"} 5.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:cpu_cache_usage_perc{model_name="m"} 0.9
vllm:gpu_prefix_cache_hit_rate{model_name="m"} 0.5
vllm:num_preemptions_total{model_name="m"} 1.0
vllm:prompt_tokens_total{model_name="m"} 900.0
vllm:generation_tokens_total{model_name="m"} 30.0
vllm:time_to_first_token_seconds_count{model_name="m"} 3.0
vllm:time_to_first_token_seconds_sum{model_name="m"} 1.5
vllm:time_per_output_token_seconds_count{model_name="m"} 27.0
vllm:time_per_output_token_seconds_sum{model_name="m"} 0.9
vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="False"} 1.0
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 7.0
vllm:spec_decode_num_draft_tokens_total{model_name="m"} 20.0
"""

V0_10 = """\
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:gpu_prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:time_per_output_token_seconds_count{engine="0",model_name="m"} 9.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 9.0
vllm:time_per_output_token_seconds_sum{engine="0",model_name="m"} 0.5
vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} 0.5
"""


def by_prometheus_client(text: str) -> dict[tuple[str, frozenset], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize("text", [IDLE, USED, TWO_ENGINES], ids=["idle", "used", "two engines"])
def test_real_pages_read_as_prometheus_client_reads_them(text):
    truth = by_prometheus_client(text)

    def value(name: str, engine: str, **labels: str) -> float:
        wanted = {"engine": engine, "model_name": "smollm2-135m", **labels}
        return truth[name, frozenset(wanted.items())]

    scrape = read(text, 1.0)
    assert [e.engine for e in scrape.engines] == (["0", "1"] if text is TWO_ENGINES else ["0"])
    for e in scrape.engines:
        assert e.running == value("vllm:num_requests_running", e.engine)
        assert e.waiting == value("vllm:num_requests_waiting", e.engine)
        assert e.kv_usage == value("vllm:kv_cache_usage_perc", e.engine)
        assert e.prefix_queries == value("vllm:prefix_cache_queries_total", e.engine)
        assert e.prefix_hits == value("vllm:prefix_cache_hits_total", e.engine)
        assert e.prompt_tokens == value("vllm:prompt_tokens_total", e.engine)
        assert e.prompt_tokens_cached == value("vllm:prompt_tokens_cached_total", e.engine)
        assert e.generation_tokens == value("vllm:generation_tokens_total", e.engine)
        assert e.preemptions == value("vllm:num_preemptions_total", e.engine)
        assert e.spec_drafts == value("vllm:spec_decode_num_drafts_total", e.engine)
        assert e.spec_draft_tokens == value("vllm:spec_decode_num_draft_tokens_total", e.engine)
        assert e.spec_accepted_tokens == value("vllm:spec_decode_num_accepted_tokens_total", e.engine)
        assert e.spec_accepted_per_pos == tuple(
            value("vllm:spec_decode_num_accepted_tokens_per_pos_total", e.engine, position=str(i)) for i in range(4)
        )
        for field, name in [
            ("ttft", "time_to_first_token"), ("itl", "inter_token_latency"), ("queue", "request_queue_time"),
            ("prefill", "request_prefill_time"), ("decode", "request_decode_time"),
        ]:
            assert getattr(e, f"{field}_sum_s") == value(f"vllm:{name}_seconds_sum", e.engine)
            assert getattr(e, f"{field}_count") == value(f"vllm:{name}_seconds_count", e.engine)
        assert e.cache_config["kv_cache_size_tokens"] == "46592"
    assert scrape.started_at == truth["process_start_time_seconds", frozenset()]


def test_a_page_read_again_through_the_label_cache_is_the_same():
    exposition = Exposition()
    first = read(USED, 1.0, exposition)
    read(IDLE, 2.0, exposition)
    assert read(USED, 1.0, exposition) == first


def test_totals_sum_counters_and_never_kv_usage():
    two = Scrape(0, (EngineSample("0", kv_usage=0.7, prompt_tokens=5, running=1), EngineSample("1", kv_usage=0.9)))
    assert two.kv_usage == 0.9
    assert two.total("prompt_tokens") == 5
    assert two.running == 1
    assert two.total("preemptions") is None


def test_vllm_0_6_names_without_an_engine_label():
    (engine,) = read(V0_6, 1.0).engines
    assert (engine.running, engine.waiting, engine.kv_usage, engine.preemptions) == (2, 5, 0.25, 1)
    assert (engine.itl_count, engine.itl_sum_s) == (27, 0.9)
    assert engine.cache_config["enable_prefix_caching"] == "False"
    # A hit rate gauge is no pair of counters, and nothing counts drafts: unknown, not zero.
    assert (engine.prefix_queries, engine.prefix_hits, engine.spec_drafts) == (None, None, None)
    assert (engine.spec_accepted_tokens, engine.spec_draft_tokens) == (7, 20)


@pytest.mark.parametrize("order", [1, -1], ids=["old first", "new first"])
def test_old_and_new_name_side_by_side_count_once(order):
    (engine,) = read("\n".join(V0_10.splitlines()[::order]), 1.0).engines
    assert (engine.prefix_queries, engine.prefix_hits, engine.kv_usage, engine.itl_count) == (100, 40, 0.5, 9)
    assert engine.itl_sum_s == 0.5


def test_counters_without_total_and_lines_with_a_timestamp():
    text = 'vllm:prompt_tokens{engine="0"} 8 1700000000000\nvllm:generation_tokens_total 3 1700000000000\n'
    exposition = Exposition()
    for _ in range(2):
        (engine,) = read(text, 1.0, exposition).engines
        assert (engine.prompt_tokens, engine.generation_tokens) == (8, 3)


ODD = [
    "a}b", "a,b", 'say "hi"', "back\\slash", "two\nlines", 'end\\"', "x=\"y\",engine=\"9\"", "{}", "a\u2028b", " ", "",
]


@pytest.mark.parametrize("value", ODD)
def test_odd_label_values_do_not_lose_a_line(value):
    escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    line = f'vllm:num_requests_running{{model_name="{escaped}",engine="3"}} 4.0\n'
    (engine,) = read(line, 1.0).engines
    assert (engine.engine, engine.running) == ("3", 4)
    (labels,) = (dict(key) for _, key in by_prometheus_client(line))
    assert parse_labels(re.search(r"\{(.*)\}", line, re.DOTALL)[1]) == labels


def test_what_is_no_number_is_unknown_and_garbage_is_skipped():
    text = 'vllm:kv_cache_usage_perc{engine="0"} NaN\nvllm:num_requests_running{engine="0"} 1.0\nvllm:\n}{ x\n<html>\n'
    (engine,) = read(text, 1.0).engines
    assert (engine.kv_usage, engine.running) == (None, 1)
    assert read("<html>not found</html>", 1.0).engines == ()


def test_a_journal_of_changes_gives_the_scrapes_again():
    pages = [IDLE, USED, USED, TWO_ENGINES, IDLE, V0_6]
    scrapes = [read(page, float(t)) for t, page in enumerate(pages)]
    previous, rebuilt = NOTHING, NOTHING
    for scrape in scrapes:
        row = json.loads(json.dumps(scrape.changes(previous), allow_nan=False))
        rebuilt = rebuilt.apply(row)
        assert rebuilt == scrape
        previous = scrape
    assert scrapes[2].changes(scrapes[1]) == {"t": 2.0}
    assert Scrape.from_json(json.loads(json.dumps(scrapes[3].to_json()))) == scrapes[3]


def _scraper(answer, now=lambda: 100.0) -> Scraper:
    return Scraper("http://engine:1/", httpx.AsyncClient(transport=httpx.MockTransport(answer)), clock=now)


async def test_scraper_asks_for_plain_text_and_tells_its_age():
    asked = []
    clock = iter([100.0, 107.5])

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, text=USED)

    scraper = _scraper(answer, lambda: next(clock))
    assert scraper.age_s() is None
    scrape = await scraper.once()
    assert scrape.t == 100.0 and scrape.total("generation_tokens") == 60
    assert scraper.age_s() == 7.5
    assert str(asked[0].url) == "http://engine:1/metrics"
    assert asked[0].headers["accept"] == "text/plain"


async def test_a_slow_or_dead_engine_gives_none_and_keeps_the_last():
    answers = iter(["page", httpx.ReadTimeout(""), httpx.ConnectError("refused"), 503, "empty", "page"])

    def answer(request: httpx.Request) -> httpx.Response:
        match next(answers):
            case "page":
                return httpx.Response(200, text=USED)
            case "empty":
                return httpx.Response(200, text="python_info 1.0\n")
            case int(status):
                return httpx.Response(status)
            case error:
                raise error

    scraper = _scraper(answer)
    good = await scraper.once()
    for word in ("no answer within 2 s", "refused", "HTTP 503", "no vLLM metrics"):
        assert await scraper.once() is None
        assert word in scraper.error
        assert scraper.last is good
    assert await scraper.once() is not None
    assert scraper.error is None
