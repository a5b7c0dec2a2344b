"""GPU memory back before the next start.

The driver gives an ended engine's memory back late, and vLLM does not say when. An engine that starts too early finds
less than its share, or fails when it is freed in the middle of its own measurement ("Error in memory profiling",
P/v1/worker/gpu_worker.py:719 of vLLM 0.32). Not run on a GPU so far.
"""

import asyncio
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tui.engine.inside import kin
from tui.errors import Exit, VtuneError
from tui.metrics import device
from tui.metrics.device import GpuProcess

TOLERANCE = 256 << 20  # bytes: a desktop or another CUDA context comes and goes
LIMIT_S = 30.0
LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class _Use:
    """Bytes in use on all GPUs, and by whom the driver says."""

    used: int
    held: dict[int, GpuProcess]


class GpuMemory:
    """Knows what was in use before the first engine, and waits until it is that again."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._before: _Use | None = None
        self._ours: set[int] = set()
        self._launches: set[str] = set()

    def forget(self) -> None:
        """What is in use by right has changed: the next `back` notes it anew."""
        self._before = None

    def launched(self, launch_id: str) -> None:
        self._launches.add(launch_id)

    def ending(self, pids: Iterable[int]) -> None:
        """These processes are ours, and are about to end."""
        self._ours.update(pids)

    async def back(self) -> str | None:
        """Wait until no more is in use than before the first engine; the first call notes what that is.

        Returns a warning where somebody else, or nobody that the driver names, holds the difference. Raises VtuneError
        (exit 3) where one of our own processes still does after the limit.
        """
        now = await asyncio.to_thread(_look)
        if now is None or self._before is None:
            self._before = now
            return None
        deadline = time.monotonic() + self._limit_s
        while (over := now.used - self._before.used) > TOLERANCE:
            grown = _grown(self._before, now)
            ours = [process for process in grown if self._is_ours(process.pid)]
            others = sum(process.used_bytes or 0 for process in grown if process not in ours)
            if not ours and over - others <= TOLERANCE:
                return _in_use(over, grown)
            if time.monotonic() > deadline:
                return self._still_held(over, ours, grown)
            await asyncio.sleep(LOOK_S)
            now = await asyncio.to_thread(_look)
            if now is None:
                return None  # the driver no longer says
        return None

    def _is_ours(self, pid: int) -> bool:
        return pid in self._ours or kin.tag(pid) in self._launches

    def _still_held(self, over: int, ours: list[GpuProcess], grown: list[GpuProcess]) -> str:
        if not ours:
            return _in_use(over, grown)
        raise VtuneError(
            f"{_gib(over)} of GPU memory are not back {self._limit_s:.0f} s after the engine ended: {_names(ours)}",
            f"end it, then start again: kill -9 {' '.join(str(process.pid) for process in ours)}",
            Exit.ENGINE,
        )


def _look() -> _Use | None:
    gpus = device.gpus()
    if gpus is None:
        return None
    held: dict[int, GpuProcess] = {}
    for process in device.gpu_processes():  # a line for each GPU that a process uses
        if (seen := held.get(process.pid)) is not None and None not in (seen.used_bytes, process.used_bytes):
            process = GpuProcess(process.pid, process.name, seen.used_bytes + process.used_bytes)  # type: ignore[operator]
        held[process.pid] = process
    return _Use(sum(gpu.used_bytes for gpu in gpus), held)


def _grown(before: _Use, now: _Use) -> list[GpuProcess]:
    """Who holds more than before, and how much more (unknown where the driver does not say)."""
    found = []
    for pid, process in now.held.items():
        had = before.held[pid].used_bytes if pid in before.held else 0
        if process.used_bytes is None or had is None:
            if pid not in before.held:
                found.append(process)
        elif process.used_bytes > had:
            found.append(GpuProcess(pid, process.name, process.used_bytes - had))
    return found


def _in_use(over: int, grown: Collection[GpuProcess]) -> str:
    who = _names(grown) if grown else "by whom, the driver does not say"
    return f"{_gib(over)} more GPU memory are in use than before the first engine: {who}"


def _names(processes: Iterable[GpuProcess]) -> str:
    return ", ".join(
        f"pid {p.pid} ({p.name})" + ("" if p.used_bytes is None else f" holds {_gib(p.used_bytes)}") for p in processes
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
