"""A profile says what it means, or says where it is wrong."""

import pytest

from tui.engine.profile import load, parse, with_settings
from tui.errors import Exit, VtuneError

MINIMAL = "engine: {model: some/model}\n"


def test_demo_reads_as_it_is_written():
    demo = load("demo")
    assert demo.name == "demo"
    assert demo.engine.model == "bundled:smollm2-135m"
    assert demo.engine.port is None and demo.engine.front_port is None
    assert demo.engine.args == {"max-model-len": 8192, "enforce-eager": True}
    assert demo.engine.env == {"VLLM_CPU_KVCACHE_SPACE": "1"}
    assert demo.levers["prefix-caching"] == "on"
    assert demo.levers["speculative"] == "off"
    assert demo.traffic.recording == "rag-handbook"
    assert [(target.metric, target.limit) for target in demo.targets] == [("ttft_s.all.p95", 2.0), ("tpot_s.p95", 0.1)]
    assert demo.source_text == demo.path.read_text()


@pytest.mark.parametrize(
    ("yaml", "line", "what"),
    [
        ("engine:\n  modle: x\n", 2, "did you mean model?"),
        ("engine: {model: x}\nlevers:\n  prefix-cachin: on\n", 3, "did you mean prefix-caching?"),
        ("engine: {model: x}\nlevers:\n\n  prefix-caching: maybe\n", 4, "'maybe'"),
        ("engine: {model: x}\nlevers:\n  prefix-caching: [on]\n", 3, "prefix-caching"),
        ("engine:\n  model: x\n  args:\n    enable-prefix-caching: on\n", 4, "belongs to the lever prefix-caching"),
        ("engine:\n  model: x\n  args:\n    max_num_batched_tokens: 64\n", 4, "belongs to the lever chunked-prefill"),
        ("engine:\n  model: x\n  args:\n    no-enable-chunked-prefill: on\n", 4, "the lever chunked-prefill"),
        ("engine:\n  model: x\n  args: {port: 1}\n", 3, "vtune writes this flag itself"),
        ("engine: {model: x}\ntraffic:\n  speed: fast\n", 3, "not a number"),
        ("engine: {model: x}\ntraffic: {speed: -1}\n", 2, "not a number"),
        ("engine: {model: x, port: 99999}\n", 1, "not a port"),
        ("engine: {model: x, port: on}\n", 1, "not a port"),
        ("engine: {model: x}\ntargets:\n  ttft-p95: 2\n", 3, "not a time"),
        ("engine: {model: x}\ntargets:\n  error-rate: 200%\n", 3, "not a share"),
        ("engine: {model: x}\ntargets:\n  tftt-p95: 2s\n", 3, "did you mean ttft-p95?"),
        ("engine: {model: x}\nengine: {model: y}\n", 2, "twice"),
        ("- engine\n", 1, "list of key: value"),
        ("name: x\n", 1, "no engine"),
        ("engine: {python: x}\n", 1, "no model"),
        ("engine: {model: x}\nlevers: [a\n", 3, "not YAML"),
        ("engine:\n  model: !!python/object/apply:os.system [ls]\n", 2, "not a plain YAML value"),
        ("engine: {model: x, args: &a {y: *a}}\n", 1, "not a plain YAML value"),
        ("engine: {model: x}\nlevers:\n  chunked-prefill: {token: 5}\n", 3, "did you mean tokens?"),
        ("engine: {model: x}\nlevers:\n  speculative: {tokens: 4}\n", 3, "which method"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_line(yaml, line, what):
    with pytest.raises(VtuneError) as refusal:
        parse(yaml)
    assert refusal.value.what.startswith(f"profile:{line}: ")
    assert what in refusal.value.what
    assert refusal.value.mend and "\n" not in refusal.value.what
    assert refusal.value.code == Exit.USAGE


def test_a_file_is_named_in_the_refusal(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("engine: {model: x}\nlevers: {kv-dtyp: fp8}\n")
    with pytest.raises(VtuneError, match=f"{path}:2: unknown key 'kv-dtyp' in levers"):
        load(str(path))


def test_an_unknown_profile_names_the_known_ones():
    with pytest.raises(VtuneError) as refusal:
        load("no-such-profile")
    assert "demo" in refusal.value.mend


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b""])
def test_a_file_that_is_no_profile_at_all(tmp_path, content):
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    with pytest.raises(VtuneError):
        load(str(path))


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("prefix-caching: off", {"prefix-caching": "off"}),
        ("prefix-caching: 'on'", {"prefix-caching": "on"}),
        ("chunked-prefill: {tokens: 512, long-prefill-threshold: 256}", {"chunked-prefill": "512/256"}),
        ("chunked-prefill: 512/256", {"chunked-prefill": "512/256"}),
        ("chunked-prefill: off", {"chunked-prefill": "off"}),
        ("chunked-prefill: on", {"chunked-prefill": "on"}),
        ("{long-prefill-threshold: 256, chunked-prefill: 512}", {"chunked-prefill": "512/256"}),
        ("speculative: {method: ngram, tokens: 4, lookup: [2, 4]}", {"speculative": "ngram:4:2-4"}),
        ("speculative: {method: ngram, lookup: [2, 3]}", {"speculative": "ngram:4:2-3"}),
        ("speculative: {method: draft-model, model: 'a:b/c', tokens: 3}", {"speculative": "draft-model:a:b/c:3"}),
        ("speculative: ngram", {"speculative": "ngram:4:2-4"}),
        ("speculative: {method: off}", {"speculative": "off"}),
        ("max-num-seqs: 1_000", {"max-num-seqs": "1000"}),
        ("kv-pool: 2048 MiB", {"kv-pool": "2GiB"}),
    ],
)
def test_levers_in_every_form(yaml, words):
    body = yaml if yaml.startswith("{") else f"{{{yaml}}}"
    assert dict(parse(f"{MINIMAL}levers: {body}\n").levers) == words


def test_a_budget_below_the_sequences_is_refused_at_the_levers_line():
    with pytest.raises(VtuneError, match="profile:3: chunked-prefill=64: the budget is below max-num-seqs=128"):
        parse(f"{MINIMAL}levers:\n  chunked-prefill: 64\n  max-num-seqs: 128\n")


def test_a_flag_and_its_lever_together_are_refused():
    with pytest.raises(VtuneError, match="the lever eager sets this too"):
        parse("engine: {model: x, args: {enforce-eager: on}}\nlevers: {eager: off}\n")


def test_targets_know_their_units_and_directions():
    targets = "{ttft-warm-p50: 250ms, error-rate: 1%, hit-rate: 50%, output-tokens-per-s: 20, e2e-p99: off}"
    found = {target.name: target for target in parse(f"{MINIMAL}targets: {targets}\n").targets}
    assert found["ttft-warm-p50"].metric == "ttft_s.warm.p50" and found["ttft-warm-p50"].limit == 0.25
    assert found["error-rate"].limit == 0.01 and not found["error-rate"].at_least
    assert found["hit-rate"].at_least and found["output-tokens-per-s"].at_least
    assert "e2e-p99" not in found


@pytest.mark.parametrize("variable", ["HF_TOKEN", "VLLM_API_KEY", "OPENAI_APIKEY", "DB_PASSWORD"])
def test_secrets_are_refused_in_a_profile(variable):
    with pytest.raises(VtuneError, match="secrets"):
        parse(f"engine: {{model: x, env: {{{variable}: s3cret}}}}\n")


def test_a_variable_that_only_looks_like_a_secret_passes():
    assert parse("engine: {model: x, env: {TOKENIZERS_PARALLELISM: off}}\n").engine.env["TOKENIZERS_PARALLELISM"] == "0"


def test_set_changes_levers_and_any_other_key():
    changed = with_settings(
        load("demo"),
        [
            "prefix-caching=off",
            "speculative=ngram",
            "long-prefill-threshold=256",
            "engine.args.max-model-len=4096",
            "engine.env.OMP_WAIT_POLICY=passive",
            "engine.python=/opt/venv",
            "traffic.pace=closed:1",
            "traffic.speed=2",
            "targets.ttft-p95=500ms",
            "targets.tpot-p95=off",
        ],
    )
    assert changed.levers["prefix-caching"] == "off"
    assert changed.levers["speculative"] == "ngram:4:2-4"
    assert changed.levers["chunked-prefill"] == "2048/256"
    assert changed.engine.args["max-model-len"] == 4096
    assert changed.engine.env["OMP_WAIT_POLICY"] == "passive"
    assert changed.engine.python == "/opt/venv"
    assert (changed.traffic.pace, changed.traffic.speed) == ("closed:1", 2.0)
    assert [(target.name, target.limit) for target in changed.targets] == [("ttft-p95", 0.5)]
    assert load("demo").levers["prefix-caching"] == "on"  # the file's profile is not touched


def test_a_lever_that_is_set_takes_over_from_args_and_environment():
    changed = with_settings(load("demo"), ["eager=off", "kv-pool=3GiB"])
    assert "enforce-eager" not in changed.engine.args
    assert "VLLM_CPU_KVCACHE_SPACE" not in changed.engine.env


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("prefix-caching", "no value"),
        ("prefix-cachng=on", "did you mean prefix-caching?"),
        ("engine.modle=x", "did you mean engine.model?"),
        ("kv-dtype=", "not a value"),
        ("speculative=ngram:4:5-2", "not a value"),
        ("max-num-seqs=0", "not a value"),
        ("raw.api-key=s3cret", "secrets"),
        ("raw.port=1", "where the engine answers"),
        ("engine.env.HF_TOKEN=s3cret", "secrets"),
        ("long-prefill-threshold=99999", "above max-model-len"),
    ],
)
def test_set_refuses_with_one_line(setting, what):
    with pytest.raises(VtuneError) as refusal:
        with_settings(load("demo"), [setting])
    assert what in refusal.value.what and refusal.value.mend
    assert "s3cret" not in refusal.value.what + refusal.value.mend


def test_a_threshold_without_chunking_is_refused():
    with pytest.raises(VtuneError, match="chunked prefill is off"):
        with_settings(load("demo"), ["chunked-prefill=off", "long-prefill-threshold=256"])
