"""Which accelerator this machine has, asked of the driver's own tool; vLLM and torch are not imported."""

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_MIB = 2**20


@dataclass(frozen=True)
class Gpu:
    """One GPU as nvidia-smi tells it."""

    name: str
    memory: int  # bytes in all
    driver: str


def gpus() -> tuple[Gpu, ...]:
    """The NVIDIA GPUs that can be used; empty where there is none or no driver."""
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return ()
    query = [smi, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(gpu for line in answer.stdout.splitlines() if (gpu := _gpu(line)))


def _gpu(line: str) -> Gpu | None:
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != 3:
        return None
    name, memory, driver = parts
    return Gpu(name, int(memory) * _MIB if memory.isdigit() else 0, driver)


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def slow_at_16_bits(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this is an x86 CPU without AVX-512; False where that can't be known."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return bool(flags) and "avx512f" not in flags
