"""From a profile to a command line: explicit, complete, and without secrets."""

import json
import os
import shlex
from dataclasses import replace

import pytest
from made_install import CPU, H100, flags

from tui.engine import command, device
from tui.engine.profile import load, parse, with_settings
from tui.errors import VtuneError


@pytest.fixture(autouse=True)
def two_cores(monkeypatch, tmp_path):
    monkeypatch.setattr(device, "cores", lambda: 2)
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path))
    for name in ("LD_PRELOAD", "VLLM_CPU_KVCACHE_SPACE"):
        monkeypatch.delenv(name, raising=False)


def built(*settings, install=CPU, profile="demo"):
    return command.build(with_settings(load(profile), settings), install, 8123)


def value(launch, flag):
    return launch.argv[launch.argv.index(flag) + 1]


def test_demo_on_a_cpu(tmp_path):
    launch = built()
    assert launch.argv[:3] == (CPU.python, "-m", "vllm.entrypoints.openai.api_server")
    assert value(launch, "--model") == str(tmp_path / "models" / "smollm2-135m")
    assert value(launch, "--served-model-name") == launch.model == "smollm2-135m"
    assert value(launch, "--host") == launch.host == "127.0.0.1"
    assert value(launch, "--port") == "8123" and launch.url == "http://127.0.0.1:8123"
    assert value(launch, "--max-model-len") == "8192"
    assert "--enforce-eager" in launch.argv
    assert "--enable-prefix-caching" in launch.argv
    assert "--enable-chunked-prefill" in launch.argv
    assert value(launch, "--max-num-batched-tokens") == "2048"
    assert value(launch, "--long-prefill-token-threshold") == "0"
    assert value(launch, "--max-num-seqs") == "128"
    assert value(launch, "--kv-cache-dtype") == "auto"
    assert launch.asked["kv-pool"] == "1GiB"  # the variable for the CPU decides, and asked says so


def test_environment_of_a_cpu_engine():
    env = built().env
    assert env["LD_PRELOAD"] == CPU.libgomp
    assert env["OMP_NUM_THREADS"] == "1"
    assert env["NUMBA_NUM_THREADS"] == env["OMP_NUM_THREADS"]  # n-grams are looked up by numba, in the same pool
    assert env["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
    assert env["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert env["HF_HUB_OFFLINE"] == "1"
    assert env["VLLM_NO_USAGE_STATS"] == "1"
    assert env["VLLM_SERVER_DEV_MODE"] == "1"
    assert "VLLM_SERVER_DEV_MODE" not in built("engine.dev-mode=off").env


def test_what_is_preloaded_already_stays(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libtcmalloc.so")
    assert built().env["LD_PRELOAD"] == f"{CPU.libgomp}:/usr/lib/libtcmalloc.so"


def test_demo_on_a_gpu():
    launch = built(install=H100)
    assert launch.argv[:4] == (H100.python, "-m", "vllm.entrypoints.cli.main", "serve")
    assert "--model" not in launch.argv
    assert value(launch, "--kv-cache-memory-bytes") == str(2 * 2**30)
    assert not {"LD_PRELOAD", "OMP_NUM_THREADS"} & set(launch.env)


def test_a_model_of_a_hub_is_not_forced_offline():
    profile = parse("engine: {model: org/some-model}")
    launch = command.build(profile, H100, 8123)
    assert "HF_HUB_OFFLINE" not in launch.env
    assert launch.model == "org/some-model"
    local = command.build(with_settings(load("demo"), ["speculative=draft-model:org/draft:3"]), CPU, 8123)
    assert "HF_HUB_OFFLINE" not in local.env  # the draft has to be fetched


def test_the_other_direction_is_written_too():
    launch = built("prefix-caching=off", "chunked-prefill=off", "eager=off")
    assert "--no-enable-prefix-caching" in launch.argv and "--enable-prefix-caching" not in launch.argv
    assert "--no-enable-chunked-prefill" in launch.argv
    assert value(launch, "--max-num-batched-tokens") == "8192"
    assert "--no-enforce-eager" in launch.argv and "--enforce-eager" not in launch.argv


def test_the_bundled_draft_becomes_a_path(tmp_path):
    launch = built("speculative=draft-model:bundled:smollm2-135m-draft:3")
    config = json.loads(value(launch, "--speculative-config"))
    assert config == {
        "method": "draft_model",
        "model": str(tmp_path / "models" / "smollm2-135m-draft"),
        "num_speculative_tokens": 3,
    }
    assert launch.asked["speculative"] == "draft-model:bundled:smollm2-135m-draft:3"


MEASURING = [
    "--enable-prompt-tokens-details", "--enable-per-request-metrics", "--per-request-spec-decode-metrics",
    "--kv-cache-metrics",
]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "settings", "present"),
    [
        ("0.32.0", (), [True, True, False, True]),  # the third one fails a start without speculation
        ("0.32.0", ("speculative=ngram",), [True, True, True, True]),
        ("0.28.0", ("speculative=ngram",), [True, True, False, True]),
        ("0.12.0", ("speculative=ngram",), [True, False, False, True]),
        ("0.11.2", (), [True, False, False, False]),
    ],
)
def test_measuring_flags_are_left_out_where_the_version_lacks_them(version, settings, present):
    argv = built(*settings, install=replace(CPU, version=version)).argv
    assert [flag in argv for flag in MEASURING] == present


def test_measuring_flags_follow_the_parser_where_it_was_asked():
    known = flags("max-model-len", "enforce-eager", "enable-prompt-tokens-details", "speculative-config")
    argv = built("speculative=ngram", install=CPU.with_flags(known)).argv
    assert [flag in argv for flag in MEASURING] == [True, False, False, False]


def test_every_block_is_looked_at_on_a_cpu_and_a_sample_on_a_gpu():
    assert value(built(), "--kv-cache-metrics-sample") == "1.0"
    assert "--kv-cache-metrics-sample" not in built(install=H100).argv


def test_a_flag_that_this_vllm_lacks_is_refused_with_the_nearest():
    install = CPU.with_flags(flags("max-model-len", "enforce-eager", "seed"))
    with pytest.raises(VtuneError, match="no flag --sede.*did you mean seed"):
        built("engine.args.sede=1", install=install)
    with pytest.raises(VtuneError, match="raw.sede"):
        built("raw.sede=1", install=install)


def test_raw_flags_come_last_and_are_shown():
    launch = built("max-num-seqs=64", "raw.max-num-seqs=32", "raw.enable-log-requests=on", "raw.seed=-1")
    assert launch.argv[-4:] == ("--max-num-seqs", "32", "--enable-log-requests", "--seed=-1")
    assert launch.asked["max-num-seqs"] == "raw.max-num-seqs=32"
    assert launch.asked["raw.max-num-seqs"] == "32"


def test_arguments_of_every_kind():
    text = "engine: {model: x, args: {seed: 7, enable-log-requests: off, lora-modules: [a, b], hf-overrides: {b: 1}}}"
    argv = command.build(parse(text), CPU, 1).argv
    line = " ".join(argv)
    assert "--seed 7 --no-enable-log-requests --lora-modules a b" in line
    assert json.loads(argv[argv.index("--hf-overrides") + 1]) == {"b": 1}


def test_no_secret_reaches_the_launch(monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "s3cret")
    monkeypatch.setenv("HF_TOKEN", "s3cret")
    launch = built()
    assert "s3cret" not in repr(launch)


def test_the_shell_line_reads_back_as_the_command():
    launch = built("speculative=ngram", "engine.env.NOTE=a b'c")
    words = shlex.split(command.shell(launch))
    split = next(index for index, word in enumerate(words) if "=" not in word)
    assert tuple(words[split:]) == launch.argv
    assert "NOTE=a b'c" in words[:split]


def test_each_launch_has_its_own_id():
    first, second = built(), built()
    assert first.launch_id != second.launch_id
    assert first.env["VTUNE_LAUNCH"] == first.launch_id
    assert "VTUNE_LAUNCH" not in os.environ


def test_the_context_length_comes_from_the_checkpoint_when_the_profile_is_silent(tmp_path):
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 32768}')
    profile = parse(f"engine: {{model: {tmp_path}}}\nlevers: {{chunked-prefill: off}}")
    launch = command.build(profile, CPU, 1)
    assert value(launch, "--max-num-batched-tokens") == "32768"
    assert launch.model == tmp_path.name
