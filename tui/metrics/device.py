"""Memory of processes, of the machine and of its GPUs. None where this machine does not tell.

The calls block for milliseconds (a GPU query without pynvml up to a second): run them in a thread.
"""

import contextlib
import shutil
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")
_MIB = 1 << 20
_NVIDIA_SMI_S = 5.0


def pss(pids: Iterable[int], proc: Path = _PROC) -> int | None:
    """Bytes that these processes hold together, shared pages counted once; None when none can be read.

    A process without smaps_rollup (an old kernel, another user's) is counted with its RSS, which
    counts shared pages again.
    """
    found = [used for pid in pids if (used := _process_memory(proc / str(pid))) is not None]
    return sum(found) if found else None


def _process_memory(process: Path) -> int | None:
    return _kilobytes(process / "smaps_rollup", "Pss:") or _kilobytes(process / "status", "VmRSS:")


def _kilobytes(path: Path, key: str) -> int | None:
    """Bytes of the line ``Key:  123 kB``; None when file or line is absent (the process may just have ended)."""
    try:
        text = path.read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return None


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Bytes; within a container with a limit, the container's."""

    total: int
    available: int


def host_memory(proc: Path = _PROC, cgroup: Path = _CGROUP) -> HostMemory | None:
    total = _kilobytes(proc / "meminfo", "MemTotal:")
    available = _kilobytes(proc / "meminfo", "MemAvailable:")
    if total is None or available is None:
        return None
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit is not None and used is not None and limit < total:
        return HostMemory(limit, max(0, min(available, limit - used)))
    return HostMemory(total, available)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # "max": no limit
        return None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as its driver sees it, whoever uses it."""

    index: int
    name: str
    used_bytes: int
    total_bytes: int
    utilization: float | None  # 0..1 of the last sampling period


def gpus() -> tuple[Gpu, ...] | None:
    """The NVIDIA GPUs of this machine; None where there is no driver to ask."""
    return _through_nvml() or _through_nvidia_smi()


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that computes on a GPU, as the driver names it; None: it does not say how much it holds."""

    pid: int
    name: str
    used_bytes: int | None


def gpu_processes() -> tuple[GpuProcess, ...]:
    """A line for each process on each GPU; empty where the driver names nobody (in containers it can't)."""
    found = []
    for line in _nvidia_smi("--query-compute-apps=pid,used_memory,process_name") or ():
        pid, used, name = (*line.split(", ", 2), "", "")[:3]
        if pid.isdecimal():
            shown = "".join(c for c in name if c.isprintable())[:80]
            found.append(GpuProcess(int(pid), shown, int(used) * _MIB if used.isdecimal() else None))
    return tuple(found)


def gpu_used(pids: Collection[int] = ()) -> int | None:
    """GPU bytes held by `pids`; by everybody where the driver names no process of them (in containers it can't)."""
    if (lines := _nvidia_smi("--query-compute-apps=pid,used_memory")) is not None:
        own = [mib for pid, mib in (_integers(line) for line in lines) if pid in pids and mib is not None]
        if own:
            return sum(own) * _MIB
    found = gpus()
    return sum(gpu.used_bytes for gpu in found) if found else None


def _through_nvml() -> tuple[Gpu, ...] | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return tuple(_nvml_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError:
        return None
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _nvml_gpu(nvml: Any, index: int) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    name = nvml.nvmlDeviceGetName(handle)
    try:
        busy = nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
    except nvml.NVMLError:  # a MIG slice has none
        busy = None
    name = name.decode() if isinstance(name, bytes) else name
    return Gpu(index, name, memory.used, memory.total, busy)


def _through_nvidia_smi() -> tuple[Gpu, ...] | None:
    lines = _nvidia_smi("--query-gpu=index,memory.used,memory.total,utilization.gpu,name")
    rows = [line.split(", ", 4) for line in lines or ()]
    found = []
    for index, used, total, busy, name in (row for row in rows if len(row) == 5):
        if index.isdecimal() and used.isdecimal() and total.isdecimal():
            share = int(busy) / 100 if busy.isdecimal() else None
            found.append(Gpu(int(index), name, int(used) * _MIB, int(total) * _MIB, share))
    return tuple(found) or None


def query_gpus(field: str) -> list[str] | None:
    """``index, value`` of a field of nvidia-smi, a line a GPU; None where it is not there, or has no such field."""
    return _nvidia_smi(f"--query-gpu=index,{field}")


def _nvidia_smi(query: str) -> list[str] | None:
    """Lines of a query's CSV, numbers without units; None without nvidia-smi or a driver that answers."""
    if (program := shutil.which("nvidia-smi")) is None:
        return None
    words = [program, query, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_NVIDIA_SMI_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None


def _integers(line: str) -> tuple[int | None, int | None]:
    first, _, second = line.partition(", ")
    return tuple(int(word) if word.isdecimal() else None for word in (first, second.strip()))  # type: ignore[return-value]
