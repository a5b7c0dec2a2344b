"""Is it our engine that answers: who holds the port, /health, and one real token."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import httpx

from tui.engine.launch import Launch

_LISTEN = "0A"  # state in /proc/net/tcp


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that listens on a port; pid None where /proc does not tell (another user's)."""

    pid: int | None
    words: str  # "pid 123 (python -m http.server)"


def free_port(host: str = "127.0.0.1") -> int:
    """A port that is free on `host` now. Somebody may take it before the engine does; that start fails with
    the cause "port taken", and another port is tried once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def port_is_free(host: str, port: int) -> bool:
    """Whether an engine could bind here; a connection in TIME_WAIT does not count, as it does not for vLLM."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _holds(pid: int, inodes: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    wanted = {f"socket:[{inode}]" for inode in inodes}
    try:
        return any(os.readlink(f"{folder}/{fd}") in wanted for fd in os.listdir(folder))
    except OSError:
        return False


def _describe(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        words = ""
    shown = "".join(c for c in words if c.isprintable())
    return f"pid {pid} ({shown[:77] + '...' if len(shown) > 80 else shown})" if shown else f"pid {pid}"


def port_holders(port: int, ours: list[int]) -> list[Holder] | None:
    """Who listens on `port`, members of `ours` first; [] if nobody, None where that can't be known (no /proc)."""
    if not Path("/proc/net/tcp").exists():
        return None
    inodes = _listening_inodes(port)
    if not inodes:
        return []
    others = (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in ours)
    found = [Holder(pid, _describe(pid)) for pid in ours if _holds(pid, inodes)]
    if not found:
        found = [Holder(pid, _describe(pid)) for pid in others if _holds(pid, inodes)]
    return found or [Holder(None, "a process of another user")]


async def healthy(client: httpx.AsyncClient) -> bool:
    """Whether /health answers 200."""
    try:
        return (await client.get("/health", timeout=2.0)).status_code == 200
    except httpx.HTTPError:
        return False


async def one_token(client: httpx.AsyncClient, launch: Launch, timeout_s: float) -> str | None:
    """Ask for one real token; None if it came, else why not.

    The prompt is shorter than any KV block, so it leaves nothing in the prefix cache.
    """
    body = {"model": launch.model, "prompt": "1", "max_tokens": 1, "temperature": 0}
    try:
        answer = await client.post("/v1/completions", json=body, timeout=timeout_s)
    except httpx.HTTPError as error:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    if answer.status_code != 200:
        return f"HTTP {answer.status_code}: {answer.text[:200]}"
    try:
        return None if answer.json()["usage"]["completion_tokens"] == 1 else "the answer holds no token"
    except (ValueError, KeyError, TypeError):
        return "the answer is not a completion"
