"""Watching real processes in tests, by pid and start time."""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

from tui.engine.inside import kin


async def settled(log: Path, timeout_s: float = 60.0) -> list[int]:
    """The pids that an unruly child has told in its log, once it is all there."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        words = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        pids = [int(word[1]) for word in words if word[:1] == ["pid"]]
        if ["count", str(len(pids))] in words:
            return pids
        await asyncio.sleep(0.02)
    raise AssertionError(f"the child did not come up: {log.read_text() if log.exists() else 'no log'}")


def identities(pids: Iterable[int]) -> set[tuple[int, int]]:
    """(pid, start time) of each; every one must be there."""
    found = {pid: kin.read(pid) for pid in pids}
    assert all(found.values()), f"not running: {found}"
    return {(proc.pid, proc.start) for proc in found.values() if proc}


def alive(who: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of `who` that still run."""
    now = [(kin.read(pid), start) for pid, start in who]
    return {(proc.pid, start) for proc, start in now if proc and proc.start == start and proc.alive}


def wait_gone(who: Iterable[tuple[int, int]], timeout_s: float) -> set[tuple[int, int]]:
    """Wait until none of `who` runs; return those that still do at the end."""
    deadline = time.monotonic() + timeout_s
    left = set(who)
    while (left := alive(left)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left
