"""Engines that no living owner claims: what is left when vtune and its keeper were both killed.

Known from the keepers' own state files, checked by boot and start time; never found by name.
"""

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui import paths
from tui.engine.inside import kin


@dataclass(frozen=True, slots=True)
class Orphan:
    """The living members of a launch whose keeper is gone; they are ended in one go."""

    launch_id: str
    log: str
    processes: tuple[kin.Proc, ...]
    state_file: Path

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(proc.pid for proc in self.processes)


def find() -> list[Orphan]:
    """Orphans of this user's vtunes; forgets state files that lead to nothing any more."""
    folder = paths.state() / "engines"
    if not kin.HAVE_PROC or not folder.is_dir():
        return []
    procs = kin.table()
    found = []
    for file in sorted(folder.glob("*.json")):
        state = _read(file)
        if state is None or _lives(state.get("keeper", {}), procs) and state.get("boot") == kin.boot_id():
            continue
        orphans = _orphans(file, state, procs) if state.get("boot") == kin.boot_id() else []
        found += orphans
        if not orphans:
            file.unlink(missing_ok=True)
    return found


def end(orphan: Orphan, grace_s: float = 3.0) -> list[int]:
    """CONT and TERM, then KILL; returns the pids that still run after that."""
    for number in (signal.SIGTERM, signal.SIGCONT):
        for proc in orphan.processes:
            kin.send(proc, number)
    left = _wait(orphan.processes, grace_s)
    for proc in left:
        kin.send(proc, signal.SIGKILL)
    left = _wait(left, 5.0)
    if not left:
        find()  # the state file is forgotten once nothing of it runs
    return [proc.pid for proc in left]


def _read(file: Path) -> dict[str, Any] | None:
    try:
        state = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) and state.get("schema") == "vtune.engines/1" else None


def _lives(who: dict[str, int], procs: dict[int, kin.Proc]) -> bool:
    proc = procs.get(who.get("pid", 0))
    return proc is not None and proc.start == who.get("start") and proc.alive


def _orphans(file: Path, state: dict[str, Any], procs: dict[int, kin.Proc]) -> list[Orphan]:
    launches = {one["id"]: one for one in state.get("launches", ())}
    # A leader's pid may belong to a stranger by now: only a session as old as the launch is the launch's.
    started = {one["pid"]: one["start"] for one in launches.values()}
    members: dict[str, list[kin.Proc]] = {}
    for proc in procs.values():
        if not proc.alive or proc.pid == os.getpid():
            continue
        born = started.get(proc.session)
        ours = born is not None and proc.start >= born and _same_session(proc.session, born, procs)
        name = next(one["id"] for one in launches.values() if one["pid"] == proc.session) if ours else kin.tag(proc.pid)
        if name in launches:
            members.setdefault(name, []).append(proc)
    return [Orphan(name, launches[name]["log"], tuple(group), file) for name, group in members.items()]


def _same_session(leader: int, born: int, procs: dict[int, kin.Proc]) -> bool:
    """A pid is not given out again while its session lives, so a leader with another start time is a stranger."""
    proc = procs.get(leader)
    return proc is None or proc.start == born


def _wait(processes: tuple[kin.Proc, ...] | list[kin.Proc], timeout_s: float) -> list[kin.Proc]:
    deadline = time.monotonic() + timeout_s
    while True:
        now = ((proc, kin.read(proc.pid)) for proc in processes)
        left = [proc for proc, seen in now if seen and seen.start == proc.start and seen.alive]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)
