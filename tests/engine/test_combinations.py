"""What vLLM does to levers that are asked for together, told before anything starts; a case per rule at least."""

import json
from dataclasses import replace

import pytest
from made_install import CPU as CPU_INSTALL
from made_install import H100 as H100_INSTALL
from made_install import flags

from tui.engine import applied, combinations, command, levers
from tui.engine.flags import Flag
from tui.engine.lever import Surroundings
from tui.engine.profile import load, parse, with_settings
from tui.errors import VtuneError

CPU = Surroundings(platform="cpu", max_model_len=8192, version="0.32.0")
L4 = Surroundings(
    platform="cuda", device="NVIDIA L4", device_memory=24 * 2**30, max_model_len=8192, version="0.32.0", gpus=1
)
V33, V10 = replace(L4, version="0.33.0"), replace(L4, version="0.10.2")
NO_PACKAGES = replace(L4, packages={})
PLAN = replace(L4, env={"VLLM_ENABLE_STARTUP_PLAN": "1"})
SEGMENTS = replace(L4, env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
LONG = replace(L4, max_model_len=100)
TARGET = {"vocab_size": 49152, "max_position_embeddings": 8192, "dtype": "bfloat16"}
CONFIGS = {
    "target": TARGET,
    "other": {**TARGET, "vocab_size": 32000},
    "short": {**TARGET, "max_position_embeddings": 2048},
    "awq": {**TARGET, "quantization_config": {"quant_method": "awq"}},
}


def knowing(around, model="target"):
    return replace(around, model=model, facts_of=CONFIGS.get)


def parser(around, **choices):
    names = {"kv_dtype": "kv-cache-dtype", "methods": "spec-method"}
    known = {names[key]: Flag(names[key], choices=tuple(words)) for key, words in choices.items()}
    return replace(around, flags=known)


def found(values, around):
    """As `levers.resolve` looks at them, but without refusing."""
    settled = replace(around, values=dict(values), given=frozenset(values))
    return {finding.rule: finding for finding in combinations.look(settled)}


CASES = [
    # rule, kind, levers asked for, where, words of the finding
    ("budget-below-length", "refused", {"chunked-prefill": "off"}, replace(L4, raw={"max-num-batched-tokens": "512"}),
     "must hold max-model-len 8192"),
    ("budget-raised", "moved", {"chunked-prefill": "off"}, L4, "from 2,048 to 8,192"),
    ("chunking-ignored", "overridden", {"chunked-prefill": "off"}, V10, "0.10.2 ignores this"),
    ("chunking-unsupported", "caution", {"chunked-prefill": "off"}, L4, "may crash or answer wrongly"),
    ("seqs-lowered", "moved", {"chunked-prefill": "64"}, L4, "goes down from 256 to 64"),
    ("budget-below-seqs", "refused", {"chunked-prefill": "64", "max-num-seqs": "128"}, L4, "below max-num-seqs=128"),
    ("threshold-above-length", "refused", {"chunked-prefill": "2048/9000"}, L4, "above max-model-len 8192"),
    ("threshold-idle", "caution", {"chunked-prefill": "512/512"}, L4, "limits nothing"),
    ("budget-unused", "caution", {"chunked-prefill": "2048", "max-num-seqs": "4"}, LONG, "exceeds"),
    ("speculation-async", "moved", {"speculative": "ngram:4:2-4"}, L4, "async scheduling off with ngram"),
    ("speculation-async", "moved", {"speculative": "suffix"}, L4, "async scheduling off with suffix"),
    ("speculation-async", "refused", {"speculative": "ngram:4:2-4", "async-scheduling": "on"}, L4, "not with"),
    ("speculation-async", "refused", {"speculative": "ngram:4:2-4", "async-scheduling": "on"}, CPU, "not with"),
    ("async-on-cpu", "overridden", {"async-scheduling": "on"}, CPU, "never used on CPU"),
    ("block-on-cpu", "refused", {"block-size": "16"}, CPU, "multiple of 32"),
    ("block-backend", "caution", {"block-size": "64"}, L4, "switches the backend"),
    ("dtype-on-cpu", "refused", {"kv-dtype": "nvfp4"}, CPU, "no such KV cache on CPU"),
    ("fp8-on-cpu", "refused", {"kv-dtype": "fp8"}, replace(CPU, avx512=False), "needs AVX-512 or AMX"),
    ("dtype-backend", "caution", {"kv-dtype": "fp8_e5m2"}, L4, "switches the backend"),
    ("dtype-of-model", "refused", {"kv-dtype": "float16"}, knowing(V33), "the model's own, bfloat16"),
    ("share-with-plan", "refused", {"kv-pool": "90%"}, PLAN, "an earlier share"),
    ("offload-on-cpu", "refused", {"kv-offload": "8GiB"}, CPU, "host memory already"),
    ("offload-segments", "refused", {"kv-offload": "8GiB"}, SEGMENTS, "expandable_segments"),
    ("hash-package", "refused", {"prefix-hash": "xxhash"}, NO_PACKAGES, "needs the package xxhash"),
    ("method-missing", "refused", {"speculative": "suffix"}, V10, "needs vLLM 0.12, this is 0.10"),
    ("method-missing", "refused", {"speculative": "medusa:a/b:3"}, V33, "gone since vLLM 0.33, this is 0.33"),
    ("method-missing", "refused", {"speculative": "suffix"}, parser(L4, methods=("ngram",)), "no such method"),
    ("gpu-only", "refused", {"speculative": "ngram-gpu:4:2-4"}, CPU, "needs a GPU"),
    ("suffix-package", "refused", {"speculative": "suffix"}, NO_PACKAGES, "arctic-inference"),
    ("old-runner", "moved", {"speculative": "suffix"}, L4, "older model runner"),
    ("draft-vocabulary", "refused", {"speculative": "draft-model:other:3"}, knowing(L4), "32000 words"),
    ("draft-context", "overridden", {"speculative": "draft-model:short:3"}, knowing(V33), "lowers the whole server's"),
    ("draft-context", "caution", {"speculative": "draft-model:short:3"}, knowing(L4), "knows 2048 positions"),
    ("draft-kv", "moved", {"speculative": "draft-model:a/b:3"}, L4, "fewer tokens fit"),
    ("last-block", "moved", {"speculative": "eagle3:a/b:3"}, L4, "fewer tokens count as cached"),
    ("request-limits", "caution", {"speculative": "ngram:4:2-4"}, CPU, "min_p"),
    ("sampled-on-cpu", "caution", {"speculative": "ngram:4:2-4"}, CPU, "breaks sampled answers"),
    ("too-few-gpus", "refused", {"tensor-parallel": "2"}, L4, "this machine has 1"),
    ("too-few-gpus", "refused", {"tensor-parallel": "2", "data-parallel": "2"}, replace(L4, gpus=2), "4 GPUs"),
    ("own-caches", "moved", {"data-parallel": "2"}, CPU, "its own prefix cache"),
    ("quantized-otherwise", "caution", {"quantization": "gptq"}, knowing(L4, "awq"), "the checkpoint says awq"),
    ("raw-wins", "overridden", {"max-num-seqs": "128"}, replace(L4, raw={"max-num-seqs": "4"}), "wins over"),
    ("level-missing", "refused", {"eager": "O1"}, V10, "needs vLLM 0.12, this is 0.10"),
    ("unknown-choice", "refused", {"kv-dtype": "octave_4"}, parser(L4, kv_dtype=("auto", "fp8")), "it has auto, fp8"),
]  # fmt: skip


def test_every_rule_has_a_case_and_a_fact():
    assert {case[0] for case in CASES} == {rule.name for rule in combinations.RULES}
    assert all(rule.fact.startswith(("vllm.md ", "help of ", "measured: ")) for rule in combinations.RULES)


@pytest.mark.parametrize(("rule", "kind", "values", "around", "words"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_combination_is_told(rule, kind, values, around, words):
    finding = found(values, around).get(rule)
    assert finding is not None
    assert finding.kind == kind and words in f"{finding.what} {finding.mend}"
    assert finding.levers[0] in {*values, "async-scheduling"}


@pytest.mark.parametrize(
    ("rule", "values", "around"),
    [
        ("budget-raised", {"chunked-prefill": "off"}, replace(L4, max_model_len=1024)),
        ("seqs-lowered", {"chunked-prefill": "64", "max-num-seqs": "64"}, L4),
        ("speculation-async", {"speculative": "eagle3:a/b:3"}, L4),
        ("speculation-async", {"speculative": "ngram-gpu:4:2-4"}, L4),
        ("speculation-async", {"speculative": "ngram:4:2-4"}, CPU),
        ("speculation-async", {"speculative": "ngram:4:2-4"}, V33),
        ("speculation-async", {"speculative": "ngram:4:2-4"}, V10),  # off by default there
        ("speculation-async", {"speculative": "ngram:4:2-4", "async-scheduling": "off"}, L4),
        ("fp8-on-cpu", {"kv-dtype": "fp8"}, CPU),  # unknown is not missing
        ("fp8-on-cpu", {"kv-dtype": "fp8"}, replace(L4, avx512=False)),
        ("dtype-of-model", {"kv-dtype": "bfloat16"}, knowing(V33)),
        ("dtype-of-model", {"kv-dtype": "float16"}, knowing(L4)),
        ("dtype-of-model", {"kv-dtype": "float16"}, replace(knowing(V33), raw={"dtype": "half"})),
        ("hash-package", {"prefix-hash": "xxhash"}, replace(L4, packages={"xxhash": "3.5"})),
        ("hash-package", {"prefix-hash": "xxhash"}, L4),  # unknown is not missing
        ("suffix-package", {"speculative": "suffix"}, L4),
        ("draft-vocabulary", {"speculative": "draft-model:target:3"}, knowing(L4)),
        ("draft-vocabulary", {"speculative": "draft-model:other:3;use_heterogeneous_vocab=true"}, knowing(L4)),
        ("draft-vocabulary", {"speculative": "draft-model:elsewhere:3"}, knowing(L4)),
        ("last-block", {"speculative": "eagle3:a/b:3"}, V33),
        ("sampled-on-cpu", {"speculative": "ngram:4:2-4"}, L4),
        ("sampled-on-cpu", {"speculative": "ngram:4:2-4"}, replace(CPU, version="0.33.0")),
        ("sampled-on-cpu", {"speculative": "off"}, CPU),
        ("method-missing", {"speculative": "medusa:a/b:3"}, L4),
        ("too-few-gpus", {"tensor-parallel": "2"}, replace(L4, raw={"distributed-executor-backend": "ray"})),
        ("quantized-otherwise", {"quantization": "awq_marlin"}, knowing(L4, "awq")),
        ("offload-segments", {"kv-offload": "8GiB"}, L4),
    ],
)
def test_a_combination_that_works_is_not_told(rule, values, around):
    assert rule not in found(values, around)


@pytest.mark.parametrize("install", [CPU_INSTALL, H100_INSTALL], ids=["cpu", "gpu"])
def test_the_demo_profile_moves_nothing_along(install):
    assert command.build(load("demo"), install, 8123).warnings == ()


def test_what_is_refused_comes_first_and_stops_the_start():
    profile = with_settings(parse("engine: {model: org/m, args: {max-model-len: 8192}}"), ["chunked-prefill=off"])
    asked = with_settings(profile, ["speculative=ngram", "async-scheduling=on"])
    around = replace(L4, values=dict(asked.levers), given=frozenset(asked.levers))
    assert [finding.kind for finding in combinations.look(around)][:2] == ["refused", "moved"]
    with pytest.raises(VtuneError, match="async-scheduling=on: not with speculative=ngram"):
        command.build(asked, H100_INSTALL, 8123)


def test_a_launch_says_what_moves_along_and_what_the_engine_will_say():
    launch = command.build(with_settings(load("demo"), ["speculative=ngram"]), H100_INSTALL, 8123)
    assert launch.expected == {"async-scheduling": "off"}
    assert any("async scheduling off with ngram" in words for words in launch.warnings)
    silent = applied.interpret(launch.asked, [], {"vllm_config": {}}, None, None, expected=launch.expected)
    assert not silent.mismatches  # unknown contradicts nothing
    otherwise = {"vllm_config": {"scheduler_config": {"async_scheduling": True}}}
    told = applied.interpret(launch.asked, [], otherwise, None, None, expected=launch.expected).mismatches
    assert told == ("async-scheduling: with this combination off was expected, the engine runs on",)


def test_a_raw_flag_that_wins_is_held_against_what_runs():
    launch = command.build(with_settings(load("demo"), ["raw.max-num-seqs=32"]), CPU_INSTALL, 8123)
    assert launch.asked["max-num-seqs"] == "raw.max-num-seqs=32" and launch.expected == {"max-num-seqs": "32"}
    info = {"vllm_config": {"scheduler_config": {"max_num_seqs": 128}}}
    (told,) = applied.interpret(launch.asked, [], info, None, None, expected=launch.expected).mismatches
    assert "32 was expected, the engine runs 128" in told


def test_the_draft_takes_its_share_of_the_pool(tmp_path):
    shape = {"num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576, "dtype": "bfloat16"}
    for name, layers in (("target", 30), ("draft", 6)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({**shape, "num_hidden_layers": layers}))
    around = replace(L4, model=str(tmp_path / "target"))
    assert "about 17% fewer" in found({"speculative": f"draft-model:{tmp_path}/draft:3"}, around)["draft-kv"].what


def test_levers_that_the_install_lacks():
    old = replace(H100_INSTALL, version="0.8.5").with_flags(
        flags("enable-prefix-caching", "enable-chunked-prefill", "max-num-batched-tokens", "max-num-seqs",
              "kv-cache-dtype", "gpu-memory-utilization", "max-model-len")
    )  # fmt: skip
    profile = parse("engine: {model: org/m, args: {max-model-len: 8192}}")
    argv = command.build(profile, old, 8123).argv
    assert "--long-prefill-token-threshold" not in argv and "--max-num-seqs" in argv
    for setting, why in (
        ("kv-offload=8GiB", "needs vLLM 0.12, this is 0.8"),
        ("kv-pool=2GiB", "no --kv-cache-memory-bytes"),
        ("chunked-prefill=512/256", "no --long-prefill-token-threshold"),
    ):
        with pytest.raises(VtuneError, match=why):
            command.build(with_settings(profile, [setting]), old, 8123)


def test_levers_in_engine_args_are_looked_at_like_the_others():
    profile = parse("engine: {model: org/m, args: {async-scheduling: on}}\nlevers: {speculative: ngram}")
    with pytest.raises(VtuneError, match="async-scheduling=on: not with"):
        command.build(profile, H100_INSTALL, 8123)
    assert command.build(load("demo"), CPU_INSTALL, 8123).asked["eager"] == "on"
    assert levers.given_in({"tensor-parallel-size": 2, "quantization": "fp8"}) == {
        "quantization": "fp8", "tensor-parallel": "2",
    }  # fmt: skip
