"""The plan of the house: who may import whom, and what must never be loaded where."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "tui"

# Room -> rooms it may import from. errors, paths and the package itself are open to all.
MAY = {
    "traffic": {"traffic"},
    "setup": {"setup", "engine"},
    "engine": {"engine"},
    "metrics": {"metrics", "traffic", "engine"},
    "session": {"session", "metrics", "traffic", "engine"},
    "screens": {"screens", "widgets", "app", "session", "metrics", "traffic", "engine"},
    "widgets": {"widgets", "session", "metrics", "traffic", "engine"},
    "app": {"app", "screens", "widgets", "session", "metrics", "traffic", "engine"},
    "commands": {"commands", "app", "screens", "widgets", "session", "metrics", "traffic", "engine", "cli"},
    "cli": {"cli", "commands"},
    "__main__": {"cli"},
    "errors": set(),
    "paths": set(),
    "__init__": set(),
}
OPEN = {"errors", "paths", "__init__"}

# Library -> the only places that may import it.
CONFINED = {
    "textual": ("app.py", "screens/", "widgets/"),
    "plotext": ("widgets/plot.py",),
    "yaml": ("engine/profile.py",),
    "vllm": (),
    "torch": (),
    "httpx": ("engine/", "metrics/", "session/"),
}
# A script in the engine's interpreter may of course use what is installed there.
INSIDE = "engine/inside/"

FILES = sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, dotted module) of every import, also those inside functions and under TYPE_CHECKING."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            # `from tui import paths` imports the module tui.paths.
            modules = [f"tui.{alias.name}" for alias in node.names] if module == "tui" else [module]
            found += [(node.lineno, name) for name in modules]
    return found


def room(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_in_the_allowed_direction(path):
    where = str(path.relative_to(ROOT))
    for line, module in imports(path):
        if where.startswith(INSIDE):
            assert not module.startswith("tui"), f"{where}:{line} imports {module}: it runs outside vtune"
            continue
        top = module.split(".")[0]
        if top in CONFINED:
            assert where.startswith(CONFINED[top]) if CONFINED[top] else False, f"{where}:{line} imports {module}"
        if top == "tui" and module != "tui" and not module.startswith("tui.__version__"):
            target = module.split(".")[1]
            assert target in OPEN or target in MAY[room(path)], f"{where}:{line} imports {module}"


def test_inside_is_python_3_9_and_stdlib_when_it_is_the_keepers():
    for path in (ROOT / "engine" / "inside").glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))
    for name in ("keeper", "kin", "front"):
        path = ROOT / "engine" / "inside" / f"{name}.py"
        own = {p.stem for p in path.parent.glob("*.py")}
        for line, module in imports(path):
            top = module.split(".")[0]
            assert top in sys.stdlib_module_names or top in own, f"{path}:{line} imports {module}"


def loaded(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after `code`."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "never"),
    [
        # rich is not on the list: httpx loads it where it is installed.
        ("import tui.session.session, tui.commands.replay", {"textual", "plotext", "vllm", "torch"}),
        ("import tui.traffic.replay.child", {"textual", "httpx", "yaml", "numpy", "vllm", "torch"}),
        ("import tui.traffic.recorder.scribe", {"textual", "httpx", "yaml", "numpy", "vllm", "torch"}),
        ("import tui.cli", {"textual", "httpx", "yaml", "numpy", "plotext"}),
        ("import tui.app", {"vllm", "torch"}),
    ],
    ids=["headless", "replay child", "recorder", "door", "screen"],
)
def test_what_a_fresh_interpreter_does_not_load(code, never):
    assert not never & loaded(code)


def test_no_file_outgrows_one_noun():
    long = {str(p.relative_to(ROOT)): n for p in FILES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400}
    assert not long
