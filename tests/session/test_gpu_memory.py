"""The memory of an ended engine, waited for: a made nvidia-smi says what is in use, and by whom."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from made_gpu import MadeGpu

from tui.engine.inside import kin
from tui.errors import Exit, VtuneError
from tui.session import gpu_memory
from tui.session.gpu_memory import GpuMemory


@pytest.fixture
def gpu(tmp_path, monkeypatch) -> MadeGpu:
    made = MadeGpu(tmp_path)
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(gpu_memory, "LOOK_S", 0.01)
    return made


@pytest.fixture
def marked() -> Iterator[int]:
    """A living process with the mark of a launch."""
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "VTUNE_LAUNCH": "launch-1"})
    yield process.pid
    process.kill()
    process.wait()


async def noted(gpu: MadeGpu, limit_s: float = 30.0) -> GpuMemory:
    memory = GpuMemory(limit_s)
    assert await memory.back() is None
    return memory


async def test_the_start_waits_until_the_memory_is_back(gpu):
    memory = await noted(gpu)
    gpu.set(70_000, 40_000, 9_000, 1_200, 55_000)
    assert await memory.back() is None
    gpu.set(1_256)
    assert await memory.back() is None  # within the tolerance of what was before


async def test_memory_that_our_own_process_keeps_refuses_the_start_and_names_it(gpu):
    memory = await noted(gpu, limit_s=0.2)
    memory.ending([77])
    gpu.set(41_960, apps=[(77, 40_960, "VLLM::EngineCore")])
    with pytest.raises(VtuneError) as refusal:
        await memory.back()
    assert refusal.value.code is Exit.ENGINE
    assert "40.0 GiB" in refusal.value.what and "pid 77 (VLLM::EngineCore)" in refusal.value.what
    assert "77" in refusal.value.mend


@pytest.mark.skipif(not kin.HAVE_PROC, reason="needs /proc")
async def test_a_process_with_the_mark_of_our_launch_is_ours_though_nobody_saw_it(gpu, marked):
    gpu.set(1000, apps=[(marked, "[N/A]", "python")])  # another vtune's, before: no growth, not ours to judge
    memory = await noted(gpu, limit_s=0.2)
    gpu.set(1000)
    memory.forget()
    assert await memory.back() is None
    memory.launched("launch-1")
    gpu.set(9_000, apps=[(marked, "[N/A]", "python")])
    with pytest.raises(VtuneError, match=f"pid {marked}"):
        await memory.back()


async def test_what_somebody_else_took_is_told_and_not_waited_for(gpu):
    gpu.set(3_000, apps=[(5, 2_000, "Xorg")])
    memory = await noted(gpu, limit_s=600)
    gpu.set(70_000, 11_000, apps=[(5, 2_000, "Xorg"), (99, 8_000, "/usr/bin/python3, \x1b[31mtrain")])
    warning = await memory.back()
    assert warning and "pid 99 (/usr/bin/python3, [31mtrain) holds 7.8 GiB" in warning and "Xorg" not in warning


async def test_our_leftover_is_waited_for_even_beside_somebody_elses(gpu):
    memory = await noted(gpu, limit_s=600)
    memory.ending([77])
    others = (99, 8_000, "train")
    gpu.set(49_000, 9_000, apps=[others])  # the driver no longer names 77 but still frees
    warning = await memory.back()
    assert warning and "pid 99" in warning


async def test_in_a_container_the_driver_names_nobody_and_the_start_goes_on_with_a_warning(gpu):
    memory = await noted(gpu, limit_s=0.1)
    gpu.set(9_192)
    warning = await memory.back()
    assert warning and "8.0 GiB more" in warning and "does not say" in warning


async def test_a_process_on_two_gpus_is_one_holder(gpu):
    memory = await noted(gpu, limit_s=0.1)
    memory.ending([77])
    gpu.set(9_192, apps=[(77, 4_096, "VLLM::Worker"), (77, 4_096, "VLLM::Worker")])
    with pytest.raises(VtuneError, match="holds 8.0 GiB$"):
        await memory.back()


async def test_without_a_driver_nothing_is_waited_for(gpu):
    (gpu.bin / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    memory = await noted(gpu)
    assert await memory.back() is None
