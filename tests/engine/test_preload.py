"""Preloaded weights: the daemon's command, and where they are refused before anything starts. Not run on a GPU."""

from dataclasses import replace
from pathlib import Path

import pytest
from made_install import CPU, H100

from tui.engine import command, preload
from tui.engine.profile import parse, with_settings
from tui.errors import VtuneError


def launch(*settings: str, install=replace(H100, gpus=2)):
    text = "engine: {model: org/model, preload: on, args: {max-model-len: 8192, trust-remote-code: on, seed: 7}}"
    return command.build(with_settings(parse(text), settings), install, 8123)


def test_the_daemon_gets_what_decides_which_weights_are_loaded_and_nothing_else():
    built = launch("tensor-parallel=2", "max-num-seqs=64")
    words = preload.command(built, Path("/run/x"))
    assert words[:4] == (H100.python, "-m", "vllm.entrypoints.cli.main", "preload")
    assert dict(zip(words[4::2], words[5::2], strict=False))["--model"] == "org/model"
    line = " ".join(words)
    assert "--tensor-parallel-size 2" in line and "--trust-remote-code" in line and "--max-model-len 8192" in line
    assert words[-2:] == ("--weight-cache-socket-dir", "/run/x")
    for other in ("--seed", "--max-num-seqs", "--port", "--served-model-name", "prefix", "--host"):
        assert other not in line


def test_levers_that_load_alike_share_a_daemon():
    one = preload.key(launch())
    assert preload.key(launch("max-num-seqs=64", "kv-dtype=fp8", "prefix-caching=off", "speculative=ngram")) == one
    assert preload.key(launch("tensor-parallel=2")) != one
    assert preload.key(launch("engine.model=org/other")) != one


@pytest.mark.parametrize(
    ("install", "settings", "why"),
    [
        (CPU, (), "runs on cpu"),
        (replace(H100, platform="rocm"), (), "runs on rocm"),
        (replace(H100, version="0.30.1"), (), "0.30.1 has no `vllm preload`"),
        (H100, ("engine.args.load-format=dummy",), "load-format is set as well"),
        (H100, ("raw.enable-sleep-mode=on",), "enable-sleep-mode is set as well"),
    ],
)
def test_it_is_refused_in_two_lines_with_the_reason(install, settings, why):
    with pytest.raises(VtuneError) as refusal:
        launch(*settings, install=install)
    assert refusal.value.what.startswith("engine.preload: ") and why in refusal.value.what
    assert "engine.preload: off" in refusal.value.mend


def test_it_is_off_unless_asked_for():
    built = command.build(parse("engine: {model: org/model}"), CPU, 8123)
    assert not built.preload and "ipc_cache" not in built.argv


@pytest.mark.parametrize(
    ("rest", "settings", "where"),
    [
        ("levers:\n  kv-pool: 90%\n", (), "profile:4: kv-pool=90%"),
        ("", ("kv-pool=80%",), "kv-pool=80%"),
        ("", ("raw.gpu-memory-utilization=0.8",), "raw.gpu-memory-utilization"),
        ("", ("engine.args.gpu-memory-utilization=0.8",), "engine.args.gpu-memory-utilization"),
    ],
)
def test_a_startup_plan_and_a_share_of_the_memory_exclude_each_other(rest, settings, where):
    """The plan's key leaves the share out: a changed one would get the pool of an earlier start."""
    source = "engine:\n  {model: org/model, env: {VLLM_ENABLE_STARTUP_PLAN: '1'}}\n" + rest
    with pytest.raises(VtuneError) as refusal:
        with_settings(parse(source), settings)
    assert refusal.value.what.startswith(where) and "earlier share" in refusal.value.what
    assert "8GiB" in refusal.value.mend and "VLLM_ENABLE_STARTUP_PLAN" in refusal.value.mend


def test_a_startup_plan_of_the_shell_counts_too(monkeypatch):
    monkeypatch.setenv("VLLM_ENABLE_STARTUP_PLAN", "1")
    with pytest.raises(VtuneError, match="earlier share"):
        command.build(with_settings(parse("engine: {model: org/model}"), ["kv-pool=80%"]), H100, 1)


@pytest.mark.parametrize("settings", [("kv-pool=8GiB",), ("kv-pool=auto",), ()])
def test_a_plan_may_stand_beside_a_size(settings):
    source = "engine: {model: org/model, env: {VLLM_ENABLE_STARTUP_PLAN: '1'}}"
    assert command.build(with_settings(parse(source), settings), H100, 1).env["VLLM_ENABLE_STARTUP_PLAN"] == "1"
