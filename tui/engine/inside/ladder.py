"""Ending a launch: the stop ladder, and what dead members leave behind. Stdlib only, Python 3.9 syntax."""

import os
import re
import signal
import stat
import time
from typing import List, Optional, Set, Tuple

import kin

Reaped = Tuple[Optional[int], Optional[int]]  # exit code, signal


class Ladder:
    """Ends the members of a launch: CONT and TERM to each, KILL after the grace, until none is left."""

    def __init__(self, grace_s: float) -> None:
        self.kill_at = time.monotonic() + grace_s
        self.told: Set[Tuple[int, int]] = set()
        self.stuck = False

    def step(self, members: List[kin.Proc]) -> None:
        late = time.monotonic() >= self.kill_at
        for proc in members:
            if late:
                kin.send(proc, signal.SIGKILL)
            elif (proc.pid, proc.start) not in self.told:
                self.told.add((proc.pid, proc.start))
                kin.send(proc, signal.SIGTERM)
                kin.send(proc, signal.SIGCONT)

    def hurry(self, grace_s: float) -> None:
        self.kill_at = min(self.kill_at, time.monotonic() + grace_s)


class Launched:
    """One launch: its first process, and what ends it."""

    def __init__(self, name: str, pid: int, start: int, log: str) -> None:
        self.name = name
        self.pid = pid
        self.start = start
        self.log = log
        self.ending: Optional[Reaped] = None
        self.ladder: Optional[Ladder] = None
        self.asked = False  # to stop
        self.shared: Optional[Set[str]] = None  # its shared-memory files, read before the first signal


def remove_shared(paths: Set[str]) -> None:
    """Remove what dead members left in /dev/shm, unless a living process still maps it."""
    if not paths:
        return
    in_use = kin.shared_files(kin.table())
    for path in paths - in_use:
        try:
            if os.stat(path).st_uid == os.getuid():
                os.unlink(path)
        except OSError:
            pass


_STORE = re.compile(rb"file://(/[^\s'\"]*/vllm_dist_[0-9a-f]{32})")


def remove_stores(log: str) -> None:
    """Remove the rendezvous files that vLLM's CPU workers never do; the launch's own log names them."""
    try:
        with open(log, "rb") as file:
            paths = set(_STORE.findall(file.read(1 << 20)))
    except OSError:
        return
    for path in paths:
        try:
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
                os.unlink(path)
        except OSError:
            pass
