"""Levers: their words, their flags in both directions, and what vLLM would refuse."""

from dataclasses import replace

import pytest

from tui.engine import levers
from tui.engine.lever import Surroundings
from tui.errors import VtuneError

CPU = Surroundings(platform="cpu", max_model_len=8192, version="0.32.0")
H100 = Surroundings(platform="cuda", device="NVIDIA H100", device_memory=80 * 2**30, version="0.32.0")
A100 = replace(H100, device="NVIDIA A100-SXM4-80GB")
B200 = replace(H100, device="NVIDIA B200", device_memory=180 * 2**30)
GB10 = replace(H100, device="NVIDIA GB10", device_memory=119 * 2**30)
L4 = replace(H100, device="NVIDIA L4", device_memory=24 * 2**30)

WORDS = {
    "prefix-caching": ["on", "off"],
    "prefix-hash": ["sha256", "xxhash"],
    "chunked-prefill": ["off", "on", "2048", "512/256"],
    "max-num-seqs": ["1", "128"],
    "scheduling-policy": ["fcfs", "priority"],
    "async-scheduling": ["auto", "on", "off"],
    "kv-dtype": ["auto", "fp8", "fp8_e5m2", "nvfp4"],
    "block-size": ["auto", "32"],
    "kv-pool": ["auto", "2GiB", "1537MiB", "92.5%", "1000"],
    "kv-offload": ["off", "8GiB"],
    "speculative": [
        "off",
        "ngram:4:2-4",
        "ngram-gpu:3:2-2",
        "draft-model:a/b:3",
        "suffix",
        "suffix:8",
        "mtp:1",
        "mtp",
        "medusa:a/b:3",
        "eagle3:a/b:3;draft_tensor_parallel_size=1",
    ],
    "quantization": ["auto", "fp8", "awq_marlin"],
    "eager": ["on", "off", "O0", "O3"],
    "tensor-parallel": ["1", "8"],
    "data-parallel": ["2"],
}


def test_every_lever_is_covered_here():
    assert set(WORDS) == {lever.name for lever in levers.LEVERS}


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, all in WORDS.items() for words in all])
def test_canonical_words_read_as_themselves(name, words):
    assert levers.get(name).parse(words) == words


@pytest.mark.parametrize(
    ("name", "loose", "canonical"),
    [
        ("prefix-caching", " ON ", "on"),
        ("prefix-caching", "false", "off"),
        ("chunked-prefill", "2048/0", "2048"),
        ("chunked-prefill", "no", "off"),
        ("speculative", "ngram", "ngram:4:2-4"),
        ("speculative", "ngram:6", "ngram:6:2-4"),
        ("speculative", "ngram:6:3", "ngram:6:3-3"),
        ("speculative", "draft_model:bundled:smollm2-135m-draft:3", "draft-model:bundled:smollm2-135m-draft:3"),
        ("max-num-seqs", "1,024", "1024"),
        ("kv-pool", "2147483648", "2GiB"),
        ("kv-pool", "90.0 %", "90%"),
    ],
)
def test_loose_words_become_canonical(name, loose, canonical):
    assert levers.get(name).parse(loose) == canonical
    assert levers.get(name).parse(canonical) == canonical


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("prefix-caching", "maybe"),
        ("chunked-prefill", "0"),
        ("chunked-prefill", "512/x"),
        ("chunked-prefill", "-5"),
        ("speculative", "ngram:0:2-4"),
        ("speculative", "ngram:4:4-2"),
        ("speculative", "draft-model:3"),
        ("speculative", "draft-model:a/b"),
        ("speculative", "medusa"),
        ("kv-dtype", "fp8; rm -rf"),
        ("block-size", "0"),
        ("kv-pool", "0GiB"),
        ("kv-pool", "101%"),
        ("kv-pool", "two"),
        ("tensor-parallel", "two"),
    ],
)
def test_other_words_are_refused_with_the_way_to_write_them(name, words):
    with pytest.raises(VtuneError) as refusal:
        levers.get(name).parse(words)
    assert name in refusal.value.what and f"{name}=" in refusal.value.mend


def flags(name, words, around=CPU):
    return levers.get(name).flags(words, around)


def test_switches_are_written_in_both_directions():
    assert flags("prefix-caching", "on") == ["--enable-prefix-caching"]
    assert flags("prefix-caching", "off") == ["--no-enable-prefix-caching"]
    assert flags("eager", "off") == ["--no-enforce-eager"]


def test_chunked_prefill_writes_all_its_three_flags():
    threshold = "--long-prefill-token-threshold"
    assert flags("chunked-prefill", "512/256") == [
        "--enable-chunked-prefill",
        "--max-num-batched-tokens",
        "512",
        threshold,
        "256",
    ]
    assert flags("chunked-prefill", "off") == [
        "--no-enable-chunked-prefill",
        "--max-num-batched-tokens",
        "8192",
        threshold,
        "0",
    ]


def test_chunking_off_never_lowers_the_budget_and_says_what_it_raises():
    short = replace(CPU, max_model_len=1024)
    assert flags("chunked-prefill", "off", short)[2] == "2048"
    unknown = replace(CPU, max_model_len=None)
    assert "--max-num-batched-tokens" not in flags("chunked-prefill", "off", unknown)


def test_speculation_is_one_json_argument():
    import json

    flag, config = flags("speculative", "ngram:4:2-4")
    assert flag == "--speculative-config"
    assert json.loads(config) == {
        "method": "ngram",
        "num_speculative_tokens": 4,
        "prompt_lookup_min": 2,
        "prompt_lookup_max": 4,
    }
    assert flags("speculative", "off") == []
    here = replace(CPU, place_model=lambda ref: f"/models/{ref}")
    assert json.loads(flags("speculative", "draft-model:d:3", here)[1])["model"] == "/models/d"


def test_memory_levers_in_vllms_units():
    assert flags("kv-pool", "2GiB", L4) == ["--kv-cache-memory-bytes", str(2 * 2**30)]
    assert flags("kv-pool", "92.5%", L4) == ["--gpu-memory-utilization", "0.925"]
    assert flags("kv-offload", "8GiB", L4) == ["--kv-offloading-size", "8", "--kv-offloading-backend", "native"]
    with_space = replace(CPU, env={"VLLM_CPU_KVCACHE_SPACE": "1"})
    assert flags("kv-pool", "2GiB", with_space) == []  # the variable would win: say what it says
    assert levers.resolve({"kv-pool": "2GiB"}, with_space).values["kv-pool"] == "1GiB"


@pytest.mark.parametrize(
    ("around", "budget", "seqs"),
    [
        (CPU, "2048", "128"),
        (H100, "8192", "1024"),
        (A100, "2048", "256"),
        (replace(A100, version="0.8.5"), "8192", "1024"),
        (L4, "2048", "256"),
        (B200, "16384", "1024"),
        (replace(B200, version="0.25.0"), "8192", "1024"),
        (GB10, "8192", "1024"),
        (replace(GB10, version="0.33.0"), "2048", "256"),
    ],
    ids=["cpu", "h100", "a100", "a100 on 0.8", "l4", "b200", "b200 on 0.25", "gb10", "gb10 on 0.33"],
)
def test_silence_is_what_vllm_would_choose_written_out(around, budget, seqs):
    values = levers.resolve({}, around).values
    assert values["chunked-prefill"] == budget
    assert values["max-num-seqs"] == seqs
    assert values["prefix-caching"] == "on"
    assert values["speculative"] == "off"


def test_a_small_budget_lowers_the_default_of_max_num_seqs_openly():
    assert levers.resolve({"chunked-prefill": "64"}, CPU).values["max-num-seqs"] == "64"


@pytest.mark.parametrize(
    ("values", "around", "what", "mend"),
    [
        ({"block-size": "16"}, CPU, "multiple of 32", "block-size=32"),
        ({"block-size": "100"}, CPU, "multiple of 32", "block-size=96"),
        ({"chunked-prefill": "64", "max-num-seqs": "128"}, L4, "below max-num-seqs", "max-num-seqs to 64"),
        ({"chunked-prefill": "2048/9000"}, CPU, "above max-model-len", "2048/4096"),
        ({"kv-dtype": "nvfp4"}, CPU, "no such KV cache on CPU", "fp8"),
        ({"kv-offload": "8GiB"}, CPU, "host memory already", "kv-offload=off"),
        ({"speculative": "ngram-gpu:4:2-4"}, CPU, "needs a GPU", "speculative=ngram"),
    ],
)
def test_what_vllm_would_refuse_late_is_refused_now(values, around, what, mend):
    with pytest.raises(VtuneError) as refusal:
        levers.resolve(values, around)
    assert what in refusal.value.what and mend in refusal.value.mend


def test_flags_have_one_owner():
    owned = [flag for lever in levers.LEVERS for flag in lever.owns]
    assert len(owned) == len(set(owned))
    assert levers.owner("no-enable-prefix-caching").name == "prefix-caching"
    assert levers.owner("max_num_batched_tokens").name == "chunked-prefill"
    assert levers.owner("seed") is None


def test_the_threshold_is_a_part_of_chunked_prefill():
    values = levers.put({"chunked-prefill": "512"}, "long-prefill-threshold", "256")
    assert values == {"chunked-prefill": "512/256"}
    assert levers.put(values, "long-prefill-threshold", "off") == {"chunked-prefill": "512"}
    assert levers.values_with_facets(values)["long-prefill-threshold"] == "256"


def test_auto_and_aliases_match_what_the_engine_says():
    assert levers.get("block-size").matches("auto", "128")
    assert not levers.get("block-size").matches("64", "128")
    assert levers.get("kv-dtype").matches("fp8", "fp8_e4m3")
    assert not levers.get("kv-dtype").matches("fp8", "auto")
    same = levers.get("speculative").matches
    assert same("draft-model:bundled:tiny:3", "draft-model:/cache/models/tiny:3")
    assert not same("draft-model:bundled:tiny:3", "draft-model:/cache/models/tiny:4")
    assert same("suffix", "suffix:24")
    assert not same("ngram:4:2-4", "off")
