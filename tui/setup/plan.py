"""What to install, and whether that was done already."""

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_EPOCH = "1"  # raise it when the steps change, so that old virtualenvs are set up again


@dataclass(frozen=True)
class Plan:
    """`root` is the source tree; `foreign` an interpreter that has a GPU vLLM already, else None."""

    root: Path
    foreign: str | None = None

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def stamp(self) -> Path:
        return self.venv / ".vtune-setup"

    @property
    def log(self) -> Path:
        return self.venv / "setup.log"

    @property
    def extras(self) -> str:
        return "test,rag" if self.foreign else "cpu,test,rag"

    def seal(self) -> str:
        """What the stamp holds when this plan was carried out."""
        parts = [_EPOCH, sys.version, self.extras, (self.root / "pyproject.toml").read_text(encoding="utf-8")]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def done(self) -> bool:
        """Whether the virtualenv stands as planned."""
        try:
            return self.stamp.read_text() == self.seal() and (self.venv / "bin" / "vtune").exists()
        except OSError:
            return False


def make_plan(root: Path) -> Plan:
    """The plan for this machine: the CPU engine, unless there is a GPU and a vLLM that runs on it."""
    return Plan(root, _gpu_engine() if has_gpu() else None)


def has_gpu() -> bool:
    """Whether an NVIDIA driver answers and knows a GPU."""
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return False
    try:
        answer = subprocess.run([smi, "--list-gpus"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0 and answer.stdout.startswith("GPU ")


def _gpu_engine() -> str | None:
    """An interpreter that can import vLLM: the one named, that of the active virtualenv, that of `vllm` on PATH."""
    named, venv, command = os.environ.get("VTUNE_ENGINE_PYTHON"), os.environ.get("VIRTUAL_ENV"), shutil.which("vllm")
    candidates = (named, venv and f"{venv}/bin/python", command and _interpreter(command))
    return next((python for python in candidates if python and _imports(python, "vllm")), None)


def _interpreter(script: str) -> str | None:
    try:
        with open(script, "rb") as file:
            first = file.readline(512).decode("utf-8", "replace").strip()
    except OSError:
        return None
    return first[2:].strip() if first.startswith("#!") and "python" in first else None


def _imports(python: str, module: str) -> bool:
    try:
        command = [python, "-c", f"import {module}"]
        return subprocess.run(command, capture_output=True, timeout=300).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
