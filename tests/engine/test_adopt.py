"""From a command line that serves to a profile, and from that profile back to an equivalent command line."""

import gzip
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from made_install import CPU, H100

from tui.commands.adopt import _words
from tui.engine import command, command_line, flags
from tui.engine.adopt import adopt
from tui.engine.profile import parse
from tui.errors import VtuneError

HELP = gzip.decompress((Path(__file__).parents[1] / "standin" / "captured" / "help-all.txt.gz").read_bytes()).decode()
KNOWN = flags.parse_help(HELP)
GPU = replace(H100, dists={**H100.dists, "cbor2": "6.3", "arctic-inference": "0.1.1"})
ADDED = {"host", "port", "served-model-name", "enable-prompt-tokens-details", "enable-per-request-metrics"}

LINES = [
    "vllm serve org/m --tensor-parallel-size 1 --max-model-len 8192 --max-num-seqs 64 --kv-cache-dtype fp8",
    "vllm serve --max_num_batched_tokens=4k --long-prefill-token-threshold 512 org/m --no-enable-prefix-caching",
    "python -m vllm.entrypoints.openai.api_server --model org/m --enforce-eager --gpu-memory-utilization 0.85",
    "python3 -m vllm.entrypoints.cli.main serve org/m -q awq_marlin --block-size 32 --scheduling-policy priority",
    "vllm serve org/m --max-model-len 8192 --no-enable-chunked-prefill --no-async-scheduling --seed=-1",
    "vllm serve org/m --kv-cache-memory-bytes 8G --kv-offloading-size 12.5 --prefix-caching-hash-algo sha256_cbor",
    "vllm serve org/m --kv-offloading-size 8 --kv-offloading-backend lmcache",
    """vllm serve org/m -sc '{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 3}'""",
    """vllm serve org/m --speculative-config '{"model": "org/EAGLE3-m", "num_speculative_tokens": 3,
       "draft_tensor_parallel_size": 1, "method": "eagle3"}' --max-num-seqs 32""",
    "vllm serve org/m --speculative-config.method suffix --speculative-config.suffix_decoding_max_tree_depth 16",
    "vllm serve org/m --spec-method mtp --spec-tokens 2 -O3",
    "vllm serve org/m -cc.mode=3 --compilation-config.pass_config.fuse_x true -cc.sizes+=1,2 -cc.sizes+=4",
    """vllm serve org/m --hf-overrides '{"rope": {"factor": 2.0}}' --allowed-origins '["*"]'
       --chat-template 'a: "b" # c'""",
    "vllm serve org/m --lora-modules a=/x b=/y --enable-lora --trust-remote-code --dtype bfloat16 --max-num-seqs=8",
    "VLLM_USE_V2_MODEL_RUNNER=0 CUDA_VISIBLE_DEVICES=0 vllm serve org/m --enable-log-requests --no-enable-log-requests",
]  # fmt: skip


def adopted(line, known=KNOWN):
    return adopt(shlex.split(line), "mine", known)


def meant(words, known=KNOWN):
    """The flags of a command line as vLLM takes them: JSON without its layout, numbers without their units."""
    found = {}
    for name, value in command_line.read(words, known).flags.items():
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                pass
        found[name] = value
    return found


@pytest.mark.parametrize("known", [KNOWN, None], ids=["parser asked", "no vLLM here"])
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_adopt_then_command_gives_an_equivalent_command_line(line, known):
    words = shlex.split(line)
    found = adopted(line, known)
    assert not found.notes
    launch = command.build(parse(found.text), GPU, 8123)
    asked, written = meant(words, known), meant(list(launch.argv))
    for name, words_then in {
        "max-num-batched-tokens": {"4k": 4000}, "kv-cache-memory-bytes": {"8G": 2**33}, "optimization-level": {"3": 3}
    }.items():  # fmt: skip
        if name in asked:
            asked[name] = words_then.get(asked[name], asked[name])
    if "spec-method" in asked:  # three flags for what is one JSON argument
        spec = {"method": asked.pop("spec-method"), "num_speculative_tokens": asked.pop("spec-tokens")}
        asked["speculative-config"] = spec
    if (spec := asked.get("speculative-config", {})).get("prompt_lookup_max"):
        spec.setdefault("prompt_lookup_min", spec["prompt_lookup_max"])  # as vLLM mirrors them
    assert {name: written.get(name) for name in asked} == asked
    assert command_line.read(list(launch.argv), KNOWN).model == "org/m"


def test_the_environment_and_the_interpreter_come_along(tmp_path):
    python = tmp_path / "bin" / "python"
    found = adopted(
        f"VLLM_CPU_KVCACHE_SPACE=4 HF_TOKEN=hf_abc {python} -m vllm.entrypoints.openai.api_server --model m"
    )
    profile = parse(found.text)
    assert profile.engine.python == str(python) and profile.engine.env == {"VLLM_CPU_KVCACHE_SPACE": "4"}
    assert "hf_abc" not in found.text and found.notes == (
        "HF_TOKEN: a secret is written nowhere; export it before starting vtune",
    )


@pytest.mark.parametrize(
    "words", ["--api-key sk-123", "--api-key=sk-123", "--api_key sk-123 sk-456", "--hf-token sk-123"]
)
@pytest.mark.parametrize("known", [KNOWN, None], ids=["parser asked", "no vLLM here"])
def test_secrets_are_never_written(words, known):
    found = adopted(f"vllm serve org/m {words} --max-num-seqs 8", known)
    assert "sk-" not in found.text and "sk-" not in " ".join(found.notes)
    assert any("a secret is written nowhere" in note for note in found.notes)
    assert parse(found.text).levers["max-num-seqs"] == "8"


def test_what_vtune_decides_itself_is_said():
    found = adopted("vllm serve org/m --host 0.0.0.0 --port 8000 --served-model-name a b --seed 1")
    assert [note.partition(":")[0] for note in found.notes] == ["--host", "--port", "--served-model-name"]
    assert parse(found.text).engine.args == {"seed": 1}


def test_a_budget_without_chunking_is_said_not_to_be_kept():
    found = adopted("vllm serve org/m --no-enable-chunked-prefill --max-num-batched-tokens 9000")
    assert "max-num-batched-tokens" in found.notes[0]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("sglang serve org/m", "no command line of vLLM"),
        ("vllm bench serve", "no command line of vLLM"),
        ("vllm serve --max-num-seqs 8", "no model"),
        ("vllm serve org/m --config x.yaml", "flags in a file are not read"),
        ("vllm serve org/m --max-num-seqs many", "max-num-seqs"),
        ("vllm serve org/m --speculative-config nonsense", "not JSON"),
        ("""vllm serve org/m --speculative-config '{"method": "new"}'""", "speculative"),
    ],
)
def test_what_can_not_be_a_profile_is_refused(line, what):
    with pytest.raises(VtuneError, match=what):
        adopted(line)


def test_text_that_yaml_would_read_otherwise_keeps_its_meaning():
    line = "vllm serve org/m --revision 1e3 --chat-template no --tokenizer-revision 'a: #b' --dtype half"
    assert parse(adopted(line).text).engine.args == {
        "revision": 1000.0, "chat-template": "no", "tokenizer-revision": "a: #b", "dtype": "half",
    }  # fmt: skip


def test_the_words_behind_the_dashes(capsys):
    class Args:
        output = None
        words = ["--", "vllm", "serve", "org/m", "-o", "mine.yaml"]

    args = Args()
    assert _words(args) == ["vllm", "serve", "org/m"] and args.output == "mine.yaml"
    args.words = ["vllm serve 'org/m' --seed 1"]
    assert _words(args) == ["vllm", "serve", "org/m", "--seed", "1"]


def test_command_prints_what_was_adopted_on_a_cpu_too():
    found = adopted("vllm serve org/m --max-model-len 4096 --block-size 64 --no-enable-prefix-caching")
    argv = command.build(parse(found.text), CPU.with_flags(KNOWN), 8123).argv
    assert argv[argv.index("--block-size") + 1] == "64" and "--no-enable-prefix-caching" in argv
    assert ADDED <= set(meant(list(argv)))


@pytest.mark.parametrize(
    "line",
    [
        "sudo nohup vllm serve org/m --max-num-seqs 8 > vllm.log 2>&1 &",
        "uv run vllm serve org/m --max-num-seqs 8",
        "env VLLM_USE_V1=1 /opt/venv/bin/vllm serve org/m --max-num-seqs=8 | tee log",
        "docker run --gpus all -v /srv/cache:/c -e VLLM_USE_V1=1 --env HF_TOKEN=hf_x -p 8000:8000 --ipc=host "
        "vllm/vllm-openai:v0.32.0 --model org/m --max-num-seqs 8",
        "podman run ghcr.io/a/vllm:1 vllm serve org/m --max-num-seqs 8",
    ],
)
def test_a_line_as_people_have_it(line):
    found = adopted(line)
    profile = parse(found.text)
    assert profile.engine.model == "org/m" and profile.levers == {"max-num-seqs": "8"} and not profile.engine.args
    assert "hf_x" not in found.text + " ".join(found.notes)
    assert profile.engine.env == ({"VLLM_USE_V1": "1"} if "VLLM_USE_V1" in line else {})
