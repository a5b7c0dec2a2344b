"""What vtune needs, checked: each check says what it found, and the mend where something is missing.

`examine` blocks for some seconds (it lets vLLM import itself): call it through `asyncio.to_thread`.
"""

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from tui.engine import device, doctor_system, flags, install, model, model_make
from tui.engine.install import Install
from tui.errors import VtuneError

State = Literal["ok", "warn", "bad", "unknown"]
_BUNDLED = "bundled:smollm2-135m"


@dataclass(frozen=True)
class Check:
    name: str
    state: State
    what: str
    mend: str | None = None


def examine(python: str = "auto", model_ref: str = _BUNDLED) -> list[Check]:
    """Every check, in the order in which a person would mend them."""
    checks = [_python(), _command()]
    found, engine = _install(python)
    checks.append(engine)
    if found:
        checks += [_import(found), _device(found)]
        if found.platform == "cpu":
            checks.append(_openmp(found))
        checks.append(_model(model_ref))
    checks += [Check(*facts) for facts in doctor_system.checks()]
    return checks


def as_json(checks: list[Check]) -> dict[str, Any]:
    """The object of ``vtune doctor --json``."""
    return {"schema": "vtune.doctor/1", "checks": [asdict(check) for check in checks]}


def _python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < (3, 11):
        return Check("python", "bad", f"Python {version}; vtune needs 3.11 or newer", "install a newer Python")
    return Check("python", "ok", f"Python {version} in {sys.prefix}")


def _command() -> Check:
    """PyPI has another `vtune`, with a command of that name; so does Intel's profiler."""
    own = Path(sysconfig.get_path("scripts")) / "vtune"
    first = shutil.which("vtune")
    if "vtune" in _dists():
        mend = f"{sys.executable} -m pip uninstall vtune, then install vtune-tui again"
        return Check("command", "bad", "another package called vtune is installed and has the same command", mend)
    if first and own.exists() and Path(first).resolve() != own.resolve():
        return Check("command", "warn", f"`vtune` on PATH is {first}, another program", f"start {own}")
    return Check("command", "ok", f"vtune is {own if own.exists() else 'run as a module'}")


def _dists() -> Iterator[str]:
    return (name.lower() for dist in metadata.distributions() if (name := dist.metadata["Name"]))


def _install(python: str) -> tuple[Install | None, Check]:
    try:
        found = install.find(python)
    except VtuneError as error:
        return None, Check("engine", "bad", error.what, error.mend)
    return found, Check("engine", "ok", f"vLLM {found.version} ({found.dist}) in {found.python}")


def _import(found: Install) -> Check:
    """vLLM's own parser imports nearly all of it."""
    try:
        known = flags.known_flags(found, fresh=True)
    except VtuneError as error:
        return Check("import", "bad", error.what, mend_of_import(found, error.what))
    return Check("import", "ok", f"vLLM can be imported; it has {len(known)} flags")


def mend_of_import(found: Install, what: str) -> str:
    """The mend for a vLLM that can't be imported, by what Python said last."""
    if "torchvision" in what or "torchaudio" in what:
        return f"{found.python} -m pip uninstall torchvision torchaudio torchcodec (they do not fit this torch)"
    if "No module named" in what:
        return f"install what is missing into {found.python}"
    return f"{found.python} -c 'import vllm' shows the whole error; installing vLLM again often mends it"


def _device(found: Install) -> Check:
    if found.platform == "cpu":
        if device.cores() < 2:
            return Check(
                "device", "warn", f"{found.device}: vLLM keeps one core for itself", "give it two or more cores"
            )
        if gpus := device.gpus():
            mend = "install vllm (the GPU build) and name its interpreter: engine.python"
            return Check("device", "warn", f"{found.device}, though there is a {gpus[0].name}", mend)
        slow = " without AVX-512: vLLM is slow at 16 bits, so the demo model is computed in float32"
        return Check("device", "ok", found.device + slow * device.slow_at_16_bits())
    if not found.gpus and found.platform == "cuda":
        mend = "check nvidia-smi and the driver, or use the CPU engine: pip install 'vtune-tui[cpu]'"
        return Check("device", "bad", "this vLLM needs a GPU, and no driver answers", mend)
    if found.platform == "rocm":
        return Check("device", "unknown", "AMD GPUs are not looked for", "rocm-smi shows them")
    driver = next((gpu.driver for gpu in device.gpus()), "unknown")
    return Check("device", "ok", f"{found.device}, driver {driver}")


def _openmp(found: Install) -> Check:
    if found.libgomp:
        return Check("openmp", "ok", found.libgomp)
    mend = f"{found.python} -m pip install --force-reinstall torch"
    return Check("openmp", "warn", "torch's OpenMP library was not found: engines may use their cores badly", mend)


def _model(ref: str) -> Check:
    given = model.given(ref)
    if not model.is_bundled(ref):
        local = model.is_local(ref)
        return Check(
            "model", "ok" if local else "unknown", given if local else f"{ref}: fetched by vLLM where not cached"
        )
    if model_make.is_whole(model.place(ref)):
        return Check("model", "ok", given)
    return Check(
        "model", "warn", f"{ref} is not made yet", "it is made at the first start (half a minute), or by make setup"
    )
