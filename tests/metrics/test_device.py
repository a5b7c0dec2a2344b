"""Memory of processes and GPUs, from made /proc trees, a made nvidia-smi and the running system."""

import os
import stat
import sys
from pathlib import Path

import pytest

from tui.metrics import device


def process(proc: Path, pid: int, pss_kb: int | None, rss_kb: int) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "status").write_text(f"Name:\tpython\nVmPeak:\t  999 kB\nVmRSS:\t{rss_kb:8} kB\n")
    if pss_kb is not None:
        (folder / "smaps_rollup").write_text(
            f"5500-7fff ---p 00000000 00:00 0 [rollup]\nRss: {rss_kb:10} kB\nPss: {pss_kb:10} kB\nPss_Dirty: 1 kB\n"
        )


def test_pss_sums_processes_falls_back_to_rss_and_skips_the_ended(tmp_path):
    process(tmp_path, 1, 300, 900)
    process(tmp_path, 2, None, 50)
    assert device.pss([1, 2, 3], tmp_path) == 350 * 1024
    assert device.pss([3], tmp_path) is None
    assert device.pss([], tmp_path) is None


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="no /proc here")
def test_own_process_holds_some_megabytes():
    assert 5_000_000 < device.pss([os.getpid()]) < 5_000_000_000


def test_host_memory_is_the_containers_where_it_has_a_limit(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 800 kB\n")
    assert device.host_memory(tmp_path, tmp_path) == device.HostMemory(1000 * 1024, 800 * 1024)
    (tmp_path / "memory.max").write_text("512000\n")
    (tmp_path / "memory.current").write_text("112000\n")
    assert device.host_memory(tmp_path, tmp_path) == device.HostMemory(512_000, 400_000)
    (tmp_path / "memory.max").write_text("max\n")
    assert device.host_memory(tmp_path, tmp_path).total == 1000 * 1024
    assert device.host_memory(tmp_path / "none") is None


SMI = """#!{python}
import sys
if "query-gpu" in sys.argv[1]:
    print("0, 1024, 81559, 37, NVIDIA H100, 80GB")
    print("1, 0, 81559, [N/A], NVIDIA H100, 80GB")
else:
    print("77, 900\\n78, [N/A]")
"""


@pytest.fixture
def smi(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return program


def test_gpus_through_nvidia_smi(smi):
    first, second = device.gpus()
    assert first == device.Gpu(0, "NVIDIA H100, 80GB", 1024 << 20, 81559 << 20, 0.37)
    assert second.utilization is None
    assert device.gpu_used([77, 78]) == 900 << 20
    assert device.gpu_used([5]) == 1024 << 20


def test_who_computes_on_a_gpu(smi):
    smi.write_text("#!/bin/sh\nprintf '77, 900, /usr/bin/python3, -m \\033[31mvllm\\n78, [N/A], x\\n[N/A], 1, y\\n'\n")
    assert device.gpu_processes() == (
        device.GpuProcess(77, "/usr/bin/python3, -m [31mvllm", 900 << 20),
        device.GpuProcess(78, "x", None),
    )
    smi.write_text("#!/bin/sh\nexit 9\n")
    assert device.gpu_processes() == ()


def test_without_a_driver_gpus_are_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert device.gpus() is None
    assert device.gpu_used([1]) is None


def test_a_driver_that_fails_is_unknown(smi):
    smi.write_text("#!/bin/sh\nexit 9\n")
    assert device.gpus() is None
