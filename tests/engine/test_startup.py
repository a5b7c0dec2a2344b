"""Phases of a start from log lines, and following a log that is being written."""

from pathlib import Path

import pytest

from tui import paths
from tui.engine import startup
from tui.engine.startup import PHASES, LogFollower, Phases, clean

LOGS = Path(__file__).parent / "logs"


def phases_of(lines: list[str]) -> list[str]:
    phases = Phases()
    return ["import", *(name for at, line in enumerate(lines) if (name := phases.feed(clean(line), float(at))))]


def test_a_real_cpu_start_with_compilation_shows_each_phase() -> None:
    lines = (LOGS / "ready-compiled.log").read_text().splitlines()
    assert phases_of(lines) == ["import", "config", "weights", "compile", "KV cache", "ready"]


def test_a_real_eager_start_shows_no_compilation() -> None:
    lines = (LOGS / "core-killed.log").read_text().splitlines()
    assert phases_of(lines) == ["import", "config", "weights", "KV cache", "ready"]


# Lines as vLLM's sources print them (0.32 GPU, V2 runner); 0.8 without process tag; 0.10-0.30 with a cyan tag.
GPU_0_32 = """\
(APIServer pid=7) INFO 11-29 10:00:01 [api_utils.py:286] non-default args: {'model': 'm'}
(APIServer pid=7) INFO 11-29 10:00:05 [model.py:733] Resolved architecture: LlamaForCausalLM
(EngineCore pid=8) INFO 11-29 10:00:09 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='m'
(EngineCore pid=8) INFO 11-29 10:00:10 [model_runner.py:392] Loading model from scratch...
Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.19it/s]
(EngineCore pid=8) INFO 11-29 10:00:15 [backends.py:1105] Using cache directory: /c for vLLM's torch.compile
(EngineCore pid=8) INFO 11-29 10:00:20 [monitor.py:20] torch.compile took 5.00 s in total
(EngineCore pid=8) INFO 11-29 10:00:22 [gpu_worker.py:759] Available KV cache memory: 60.11 GiB
(EngineCore pid=8) INFO 11-29 10:00:22 [kv_cache_utils.py:2327] GPU KV cache size: 492,592 tokens, Maximum concurrency
Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|████      | 27/67 [00:01<00:02, 18.11it/s]
(EngineCore pid=8) INFO 11-29 10:00:30 [core.py:395] init engine (profile, create kv cache, warmup model) took 20.00 s
INFO:     Application startup complete.
"""
GPU_0_8 = """\
INFO 04-28 10:00:01 [api_server.py:1044] vLLM API server version 0.8.5
INFO 04-28 10:00:10 [gpu_model_runner.py:1329] Starting to load model m...
INFO 04-28 10:00:15 [backends.py:420] Using cache directory: /c for vLLM's torch.compile
INFO 04-28 10:00:22 [kv_cache_utils.py:634] GPU KV cache size: 492,592 tokens
INFO 04-28 10:00:30 [gpu_model_runner.py:1686] Graph capturing finished in 8 secs, took 0.21 GiB
INFO 04-28 10:00:30 [core.py:159] init engine (profile, create kv cache, warmup model) took 20.00 seconds
"""


@pytest.mark.parametrize("log", [GPU_0_32, GPU_0_8], ids=["0.32", "0.8"])
def test_gpu_starts_of_other_versions(log: str) -> None:
    assert phases_of(log.splitlines()) == list(PHASES)


def test_phases_only_go_forward_and_unknown_lines_are_nothing() -> None:
    lines = ["\x00\x1b[31m???", "", "GPU KV cache size: 1 tokens", "Starting to load model x...", "Traceback (most"]
    assert phases_of(lines) == ["import", "KV cache"]


def test_prefix_and_colours_come_off() -> None:
    head = "\x1b[0;36m(EngineCore_DP0 pid=12)\x1b[0;0m WARNING 11-29 10:00:01 "
    coloured = head + "[vllm.py:1703] Enforce \x07eager\x1b]0;t\x07"
    line = clean(coloured)
    assert (line.process, line.level, line.text) == ("EngineCore_DP0", "WARNING", "Enforce eager")
    assert clean("(Worker pid=3) ERROR 11-29 17:17:47 [a.py:1]     return x").text == "    return x"
    assert clean("plain text [with] brackets") == startup.Line(None, None, "plain text [with] brackets")


def test_seconds_per_phase() -> None:
    phases = Phases()
    phases.feed(clean("Resolved architecture: x"), 7.0)
    phases.feed(clean("Starting to load model x"), 9.5)
    assert phases.seconds(12.0) == {"import": 7.0, "config": 2.5, "weights": 2.5}
    assert phases.current == "weights"


def test_a_log_torn_at_every_byte_gives_every_line_once(tmp_path: Path) -> None:
    whole = "first é line\r\n 10%|█\r 20%|██\rdone\nlast without end".encode()
    expected = ["first é line", " 10%|█", " 20%|██", "done", "last without end"]
    for cut in range(len(whole) + 1):
        path = tmp_path / "log"
        path.write_bytes(b"")
        log = LogFollower(path)
        got = []
        for piece in (whole[:cut], whole[cut:]):
            with path.open("ab") as file:
                file.write(piece)
            got += log.read()
        got += log.read(last=True)
        assert got == expected, f"torn at byte {cut}"


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    log = LogFollower(tmp_path / "log")
    assert list(log.read()) == []
    (tmp_path / "log").write_text("now\n")
    assert list(log.read()) == ["now"]


def test_estimates_are_learned_per_profile_and_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path))
    assert startup.estimate("demo", "plain") is None
    startup.learn("demo", "plain", {"import": 8.0, "weights": 2.0})
    startup.learn("demo", "warm", {"import": 0.5})
    startup.learn("../other", "plain", {"import": 99.0})
    assert startup.estimate("demo", "plain") == {"import": 8.0, "weights": 2.0}
    startup.learn("demo", "plain", {"import": 6.0, "compile": 4.0})
    assert startup.estimate("demo", "plain") == {"import": 7.0, "compile": 4.0}
    assert startup.estimate("demo", "warm") == {"import": 0.5}
    assert all(file.is_relative_to(tmp_path) for file in paths.cache().rglob("*.json"))


def test_a_broken_estimates_file_is_no_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path))
    startup.learn("demo", "plain", {"import": 8.0})
    (file,) = tmp_path.rglob("*.json")
    for broken in ("", "[]", '{"starts": {"plain": []}}', '{"starts": {"plain": {"import": "x"}}}'):
        file.write_text(broken)
        assert startup.estimate("demo", "plain") is None
        startup.learn("demo", "plain", {"import": 3.0})
        assert startup.estimate("demo", "plain") == {"import": 3.0}
