"""The checks on the machine itself: memory, disk, ports, and engines that no owner claims."""

import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tui import paths
from tui.engine import orphans
from tui.engine.orphans import Orphan

Facts = tuple[str, str, str, str | None]  # name, state, what, mend

_GIB = 2**30
_ENGINE_BYTES = 4 * _GIB  # a CPU engine with the bundled model and 1 GiB of KV pool holds 2 to 3 GiB
_DISK_BYTES = _GIB


def checks() -> list[Facts]:
    return [
        _memory(),
        _port(),
        _folder("state", paths.state()),
        _folder("cache", paths.cache()),
        leftovers(orphans.find()),
    ]


def _memory() -> Facts:
    available = available_memory()
    if available is None:
        return "memory", "unknown", "the available memory could not be read", None
    what = f"{available / _GIB:.1f} GiB available"
    if available < _ENGINE_BYTES:
        return "memory", "warn", f"{what}; a CPU engine takes up to {_ENGINE_BYTES // _GIB} GiB", "end other programs"
    return "memory", "ok", what, None


def available_memory() -> int | None:
    """Bytes that may still be taken: of the machine, or of this container where that is less."""
    found = [value for value in (_meminfo(), _cgroup()) if value is not None]
    return min(found, default=None)


def _meminfo() -> int | None:
    for line in _read(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _cgroup() -> int | None:
    folder = Path("/sys/fs/cgroup")
    limit, used = _read(folder / "memory.max").strip(), _read(folder / "memory.current").strip()
    return max(0, int(limit) - int(used)) if limit.isdigit() and used.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _port() -> Facts:
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            with socket.create_connection(listener.getsockname(), timeout=5):
                return "port", "ok", "a free port on 127.0.0.1 can be had and reached", None
    except OSError as error:
        return "port", "bad", f"no port on 127.0.0.1: {error}", "check the loopback interface and the firewall"


def _folder(name: str, path: Path) -> Facts:
    variable = f"VTUNE_{name.upper()}"
    try:
        with tempfile.TemporaryFile(dir=paths.private_dir(path)):
            pass
        free = shutil.disk_usage(path).free
    except OSError as error:
        return name, "bad", f"{path} can't be written: {error.strerror}", f"point {variable} to a folder that can"
    if free < _DISK_BYTES:
        return name, "warn", f"{free // 2**20} MiB free for {path}", f"make room, or point {variable} elsewhere"
    return name, "ok", f"{path}, {free / _GIB:.0f} GiB free", None


def leftovers(found: Sequence[Orphan]) -> Facts:
    """The check over engines that no living vtune or keeper looks after."""
    if not found:
        return "leftovers", "ok", "no engine without an owner", None
    pids = " ".join(str(pid) for orphan in found for pid in orphan.pids)
    many = "engines run" if len(found) > 1 else "engine runs"
    return "leftovers", "bad", f"{len(found)} {many} without an owner: pids {pids}", "vtune doctor --end"
