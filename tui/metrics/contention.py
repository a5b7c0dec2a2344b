"""Who else used the machine while something was measured: other processes on the CPU, other users of the GPU,
clocks that the driver held down. None where this machine does not tell.

The calls block for milliseconds, a GPU query up to a second: run them in a thread.
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from tui.engine.inside import kin
from tui.metrics import device

_PROC = Path("/proc")
_BUSY = (1, 2, 3, 6, 7)  # user, nice, system, irq, softirq in the first line of /proc/stat (proc(5))
_STEAL = 8

# Bits of clocks_event_reasons.active (nvml.h, nvmlClocksEventReason*); idle and set clocks are no throttling.
_THROTTLED = {
    0x04: "power cap", 0x08: "hardware slowdown", 0x20: "temperature", 0x40: "temperature, in hardware",
    0x80: "power brake",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Load:
    """Cores in use on average since the look before: by processes that are not ours, and by other machines (steal)."""

    others: float
    steal: float
    cores: int  # that the machine has


class Contention:
    """Looks at the CPU from time to time; ours are the given processes, this one, and its children."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._proc = proc
        self._before: tuple[float, float, float, dict[int, int]] | None = None  # uptime s, busy, steal, ours (ticks)
        self._hertz = os.sysconf("SC_CLK_TCK")

    def look(self, pids: Iterable[int]) -> Load | None:
        """Since the last look; None at the first, and where /proc does not tell."""
        now = self._now({*pids, *_own()})
        before, self._before = self._before, now
        if now is None or before is None or now[0] <= before[0]:
            return None
        seconds = now[0] - before[0]
        ours = sum(ticks - before[3].get(pid, 0) for pid, ticks in now[3].items())
        busy, steal = now[1] - before[1], now[2] - before[2]
        others, stolen = (max(0.0, round(ticks / self._hertz / seconds, 2)) for ticks in (busy - ours, steal))
        return Load(others, stolen, os.cpu_count() or 1)

    def _now(self, pids: Collection[int]) -> tuple[float, float, float, dict[int, int]] | None:
        try:
            line = (self._proc / "stat").read_text().split("\n", 1)[0].split()
            uptime = float((self._proc / "uptime").read_text().split()[0])
            ticks = [int(word) for word in line[1:]]
        except (OSError, ValueError, IndexError):
            return None
        if len(ticks) < _STEAL:
            return None
        used = {pid: spent for pid in pids if (spent := self._spent(pid)) is not None}
        return uptime, sum(ticks[place - 1] for place in _BUSY), ticks[_STEAL - 1], used

    def _spent(self, pid: int) -> int | None:
        """utime and stime of a process (proc(5), fields 14 and 15), which come after a name that may hold anything."""
        try:
            words = (self._proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
            return int(words[11]) + int(words[12])
        except (OSError, ValueError, IndexError):
            return None


def _own() -> set[int]:
    return {os.getpid(), *(one.pid for one in kin.descendants(os.getpid(), kin.table()))}


def gpu_conditions(pids: Collection[int]) -> tuple[str, ...]:
    """What may slow the GPU down for `pids`, in sentences; empty where nothing does, or nobody says."""
    found = [_stranger(one) for one in device.gpu_processes() if one.pid not in pids]
    lines = device.query_gpus("clocks_event_reasons.active") or device.query_gpus("clocks_throttle_reasons.active")
    return tuple(dict.fromkeys([*found, *throttling(lines or ())]))


def _stranger(process: device.GpuProcess) -> str:
    held = "" if process.used_bytes is None else f" with {process.used_bytes / 2**30:.1f} GiB"
    return f"{process.name or 'a process'} used a GPU as well{held}"


def throttling(lines: Iterable[str]) -> list[str]:
    """From lines ``index, 0x0000000000000004``."""
    found = []
    for line in lines:
        index, _, word = line.partition(", ")
        try:
            bits = int(word.strip(), 16)
        except ValueError:  # "[N/A]" on a device that does not tell
            continue
        if reasons := [name for bit, name in _THROTTLED.items() if bits & bit]:
            found.append(f"the clocks of GPU {index.strip()} were held down: {', '.join(reasons)}")
    return found
