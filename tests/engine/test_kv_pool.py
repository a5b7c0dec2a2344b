"""The KV pool that a log tells, and which launches may share one."""

from dataclasses import replace

import pytest
from made_install import CPU, H100

from tui.engine import command, kv_pool
from tui.engine.launch import Launch
from tui.engine.profile import parse, with_settings

# P/v1/worker/gpu_worker.py:1013 of vLLM 0.32, filled in.
LINE = (
    "(EngineCore pid=77) INFO 11-29 18:00:00 [gpu_worker.py:1034] Free memory on device (78.76/79.19 GiB) on startup. "
    "Desired GPU memory utilization is (0.92, 72.85 GiB). Actual usage is 15.52 GiB for consumed memory (weights + "
    "non-torch), 1.27 GiB for peak activation, and 0.61 GiB for CUDAGraph memory. Replace gpu_memory_utilization "
    "config with `--kv-cache-memory=59377713971` (55.3 GiB) to fit into requested memory, or "
    "`--kv-cache-memory=65723408998` (61.21 GiB) to fully utilize gpu memory. Current kv cache memory in use is {} GiB."
)
MIB = 2**20


def test_the_pool_in_use_is_taken_before_the_proposal_and_the_smallest_of_all_workers():
    assert kv_pool.told(["x", LINE.format("55.45"), LINE.format("55.43"), "y"]) == int(55.43 * 1024) * MIB
    assert kv_pool.told([LINE.partition(" Current kv")[0]]) == 59377713971 // MIB * MIB
    assert kv_pool.told(["Current kv cache memory in use is 1073741824 bytes."]) == 2**30
    assert kv_pool.told(["Available KV cache memory: 55.45 GiB"]) is None


def launch(*settings: str, install=H100) -> Launch:
    profile = with_settings(parse("engine: {model: org/model, args: {max-model-len: 8192}}"), settings)
    return command.build(profile, install, 8123)


@pytest.mark.parametrize(
    "settings",
    [
        ("max-num-seqs=64",),
        ("prefix-caching=off",),
        ("chunked-prefill=512",),
        ("kv-dtype=fp8",),
        ("speculative=ngram",),
        ("kv-offload=8GiB",),
    ],
)
def test_these_levers_keep_the_pool(settings):
    assert kv_pool.kind(launch(*settings)) == kv_pool.kind(launch()) is not None


@pytest.mark.parametrize(
    "settings",
    [
        ("kv-pool=80%",),
        ("tensor-parallel=2",),
        ("quantization=fp8",),
        ("eager=on",),
        ("speculative=draft-model:org/draft:3",),
        ("engine.model=org/other",),
        ("raw.gpu-memory-utilization=0.8",),
        ("engine.env.CUDA_VISIBLE_DEVICES=1",),
    ],
)
def test_these_put_something_else_into_the_memory(settings):
    two = replace(H100, gpus=2)
    assert kv_pool.kind(launch(*settings, install=two)) not in (None, kv_pool.kind(launch()))


@pytest.mark.parametrize(
    "settings",
    [
        ("kv-pool=2GiB",),
        ("raw.kv-cache-memory-bytes=1073741824",),
        ("raw.kv-cache-memory=1G",),  # vLLM's parser takes it for the long one
        ("raw.num-gpu-blocks-override=512",),
        ("engine.pin-kv-pool=off",),
    ],
)
def test_a_pool_by_hand_is_not_vtunes_to_pin(settings):
    assert kv_pool.kind(launch(*settings)) is None


def test_on_a_cpu_nothing_is_pinned():
    assert kv_pool.kind(launch(install=CPU)) is None


def test_the_pin_comes_last_and_is_among_what_is_asked():
    pinned = kv_pool.pinned(launch("raw.gpu-memory-utilization=0.8"), 2**30)
    assert pinned.argv[-2:] == ("--kv-cache-memory-bytes", "1073741824")
    assert pinned.asked[kv_pool.PINNED] == "1073741824"
