"""Who belongs to a launch: read from /proc, never guessed from a name.

Shared by the keeper (a script, which puts its own folder on sys.path) and by vtune (as a module).
Stdlib only, Python 3.9 syntax. A process is known by (pid, start time): pids are used again, the pair is not,
within one boot.
"""

import os
import re
import signal
from typing import Dict, Iterable, List, NamedTuple, Optional, Set

TAG = "VTUNE_LAUNCH"  # environment variable that every member of a launch inherits
HAVE_PROC = os.path.isdir("/proc/self")


class Proc(NamedTuple):
    """A process as /proc/PID/stat shows it; `start` is in clock ticks since boot."""

    pid: int
    ppid: int
    session: int
    start: int
    state: str

    @property
    def alive(self) -> bool:
        """False for a zombie: it holds no memory, no port, and only waits for its parent."""
        return self.state not in "ZX"


def read(pid: int) -> Optional[Proc]:
    """The process `pid`, or None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name in parentheses may hold spaces and parentheses itself: cut after the last one.
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Proc(pid, int(fields[1]), int(fields[3]), int(fields[19]), fields[0].decode())


def table() -> Dict[int, Proc]:
    """Every process of the machine that can be seen, by pid; empty without /proc."""
    found: Dict[int, Proc] = {}
    if not HAVE_PROC:
        return found
    for name in os.listdir("/proc"):
        if name.isdigit():
            proc = read(int(name))
            if proc is not None:
                found[proc.pid] = proc
    return found


def descendants(root: int, procs: Dict[int, Proc]) -> List[Proc]:
    """All below `root`, parents before their children."""
    children: Dict[int, List[Proc]] = {}
    for proc in procs.values():
        children.setdefault(proc.ppid, []).append(proc)
    found: List[Proc] = []
    waiting = [root]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found.extend(below)
        waiting.extend(proc.pid for proc in below)
    return found


def tag(pid: int) -> Optional[str]:
    """The launch id in the environment that `pid` was started with, if it can be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return None
    for entry in environment.split(b"\0"):
        if entry.startswith(TAG.encode() + b"="):
            return entry.partition(b"=")[2].decode("utf-8", "replace")
    return None


def owner_of(proc: Proc, procs: Dict[int, Proc], leaders: Dict[int, str]) -> Optional[str]:
    """The launch that `proc` belongs to; `leaders` maps the pid of each launch's first process to its id.

    Its session decides, then its nearest ancestor, then its environment: a process forked by a warm starter
    still shows the starter's environment.
    """
    if proc.session in leaders:
        return leaders[proc.session]
    seen: Set[int] = set()
    walk: Optional[Proc] = proc
    while walk is not None and walk.pid not in seen:
        if walk.pid in leaders:
            return leaders[walk.pid]
        seen.add(walk.pid)
        walk = procs.get(walk.ppid)
    return tag(proc.pid)


def send(proc: Proc, number: int) -> None:
    """Signal exactly `proc`: a process that took over its pid is left alone."""
    if not HAVE_PROC:
        try:
            os.kill(proc.pid, number)
        except OSError:
            pass
        return
    try:
        handle = os.pidfd_open(proc.pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        handle = None
    try:
        now = read(proc.pid)
        if now is None or now.start != proc.start:
            return
        if handle is not None and hasattr(signal, "pidfd_send_signal"):
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(proc.pid, number)
    except OSError:
        pass  # gone in between, or not ours to signal
    finally:
        if handle is not None:
            os.close(handle)


_SHARED = re.compile(r"/dev/shm/psm_\w+")


def shared_files(pids: Iterable[int]) -> Set[str]:
    """Shared-memory files of Python's multiprocessing that these processes have mapped."""
    found = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
                found.update(match.group(0) for match in _SHARED.finditer(file.read()))
        except OSError:
            continue
    return found


def boot_id() -> str:
    """Names this boot, for start times count from it; empty where unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
