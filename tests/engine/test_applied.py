"""What a running engine says of itself, from captured answers of real engines.

The files under captured/ are answers of vLLM 0.32 on CPU, cut to the sections that are read; `asked` is what
those engines were started with.
"""

import json
from pathlib import Path

import httpx
import pytest

from tui.engine import applied
from tui.errors import Exit, VtuneError

CAPTURED = Path(__file__).parent / "captured"
URL = "http://engine"


def captured(name):
    return json.loads((CAPTURED / f"{name}.json").read_text())


def interpreted(name, **changed):
    answers = captured(name) | changed
    caches = applied.cache_infos(answers["metrics"])
    return applied.interpret(
        answers["asked"], caches, answers["server_info"], answers["version"], answers["models"], "smollm2-135m"
    )


@pytest.mark.parametrize(
    ("name", "levers"),
    [
        (
            "levers-other-way",
            {
                "prefix-caching": "off",
                "prefix-hash": "xxhash",
                "chunked-prefill": "512/256",
                "max-num-seqs": "32",
                "scheduling-policy": "priority",
                "kv-dtype": "fp8",
                "block-size": "64",
                "kv-pool": "1GiB",
                "speculative": "off",
                "eager": "on",
            },
        ),
        (
            "no-chunking-ngram",
            {
                "prefix-caching": "on",
                "chunked-prefill": "off",
                "speculative": "ngram:4:2-4",
                "kv-pool": "512MiB",
                "block-size": "128",
                "kv-dtype": "auto",
                "quantization": "none",
                "tensor-parallel": "1",
            },
        ),
        ("draft-model", {"speculative": "draft-model:/cache/models/smollm2-135m-draft:3"}),
    ],
)
def test_levers_are_read_back_from_real_engines(name, levers):
    found = interpreted(name)
    assert {lever: found.levers[lever] for lever in levers} == levers
    assert (found.vllm, found.model, found.device, found.max_model_len) == ("0.32.0", "smollm2-135m", "CPU", 8192)
    assert found.warnings == ()


def test_what_was_asked_and_runs_is_no_mismatch():
    for name in ("levers-other-way", "no-chunking-ngram"):
        assert interpreted(name).mismatches == ()


def test_what_vllm_overruled_is_told_in_a_sentence():
    assert interpreted("draft-model").mismatches == ("async-scheduling: asked on, the engine runs off",)


def test_pool_and_block_size():
    small, fp8 = interpreted("no-chunking-ngram"), interpreted("levers-other-way")
    assert (small.block_size, small.kv_cache_tokens) == (128, 23296)
    assert (fp8.block_size, fp8.kv_cache_tokens) == (64, 93184)


def test_without_development_mode_the_metrics_still_tell_the_cache():
    found = interpreted("no-dev-mode")
    assert found.levers["prefix-caching"] == "on"
    assert found.levers["kv-pool"] == "20%"
    assert found.levers["chunked-prefill"] is None and found.levers["speculative"] is None
    assert found.mismatches == ()
    assert any("unverified" in warning for warning in found.warnings)


def test_nothing_known_is_nothing_said():
    found = applied.interpret({"prefix-caching": "off"}, [], None, None, None)
    assert set(found.levers.values()) == {None}
    assert found.mismatches == () and found.vllm is None and found.kv_cache_tokens is None


def test_a_mismatch_of_the_cache_is_seen_without_development_mode():
    answers = captured("no-dev-mode")
    found = interpreted("no-dev-mode", asked=answers["asked"] | {"prefix-caching": "off"})
    assert found.mismatches == ("prefix-caching: asked off, the engine runs on",)


def test_labels_may_hold_braces_quotes_commas_and_newlines():
    line = r'vllm:cache_config_info{a="{x}, y",b="say \"hi\"\n",engine="0",path="C:\\new"} 1.0'
    assert applied.cache_infos(line) == [{"a": "{x}, y", "b": 'say "hi"\n', "engine": "0", "path": "C:\\new"}]


def test_two_engines_are_counted_together():
    one = captured("levers-other-way")["metrics"].split("\n")[-1]
    two = one.replace('engine="0"', 'engine="1"')
    found = interpreted("levers-other-way", metrics=f"{two}\n{one}\n")
    assert found.engines == 2 and found.kv_cache_tokens == 2 * 93184


def test_another_model_on_the_port_is_a_warning():
    answers = captured("levers-other-way")
    found = applied.interpret({}, [], answers["server_info"], None, answers["models"], "llama")
    assert "the engine serves smollm2-135m, not llama" in found.warnings


def client(handler):
    return httpx.AsyncClient(transport=httpx.MockTransport(handler))


async def test_the_endpoints_are_asked_and_a_missing_one_is_unknown():
    answers = captured("no-dev-mode")

    def engine(request):
        path = request.url.path
        if path == "/metrics":
            return httpx.Response(200, text=answers["metrics"])
        if path == "/v1/models":
            return httpx.Response(200, json=answers["models"])
        if path == "/version":
            return httpx.Response(200, text="not JSON")
        return httpx.Response(404, json={"detail": "Not Found"})

    async with client(engine) as http:
        found = await applied.read(URL, {"prefix-caching": "on"}, http, "smollm2-135m")
    assert found.levers["prefix-caching"] == "on" and found.vllm is None
    assert found.levers["max-num-seqs"] is None


async def test_an_engine_that_is_gone_is_an_error_of_the_engine():
    def nobody(request):
        raise httpx.ConnectError("refused", request=request)

    async with client(nobody) as http:
        with pytest.raises(VtuneError, match="does not answer") as refusal:
            await applied.read(URL, {}, http)
    assert refusal.value.code == Exit.ENGINE


async def test_a_server_info_that_is_text_is_unknown():
    """vLLM 0.8 has only the text form."""
    answers = captured("levers-other-way")
    found = interpreted("levers-other-way", server_info={"vllm_config": "model='x', speculative_config=None"})
    assert found.levers["speculative"] is None
    assert found.levers["prefix-caching"] == "off"
    assert answers["asked"]["prefix-caching"] == "off"
