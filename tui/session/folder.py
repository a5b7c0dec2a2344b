"""Session folders: where a new one goes, which exist, what the header says of this machine."""

import os
import platform
import time
from pathlib import Path
from typing import Any

from tui import __version__, paths
from tui.errors import VtuneError
from tui.session import journal


def new_folder() -> Path:
    """A fresh folder ``YYYYMMDD-HHMMSS[-N]`` under the sessions directory, 0700."""
    root = paths.private_dir(paths.sessions())
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        folder = root / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir(mode=0o700)
            return folder
        except FileExistsError:
            continue
    raise VtuneError(f"no free session folder for {stamp} in {root}", "wait a second and try again")


def existing() -> list[Path]:
    """Session folders, oldest first."""
    root = paths.sessions()
    return sorted(path.parent for path in root.glob(f"*/{journal.NAME}")) if root.is_dir() else []


def find(ref: str) -> Path:
    """A session by the path of its folder or journal, by its folder's name, or ``last``. Raises VtuneError."""
    if ref == "last":
        if not (found := existing()):
            raise VtuneError("there is no session yet", "run `vtune` or `vtune replay` first")
        return found[-1]
    given = Path(ref).expanduser()
    for candidate in (given.parent if given.name == journal.NAME else given, paths.sessions() / ref):
        if (candidate / journal.NAME).is_file():
            return candidate
    raise VtuneError(f"no session {ref!r}", "give a session folder, or `last`; `vtune sessions` lists them")


def header(session: str) -> dict[str, Any]:
    """What the journal's first line says: which vtune, on which machine."""
    return {
        "session": session,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "vtune": __version__,
        "host": {
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cpu": _cpu_name(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_bytes": _memory(),
            "python": platform.python_version(),
        },
    }


def _cpu_name() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or None


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
