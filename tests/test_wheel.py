"""What is shipped: the wheel, installed elsewhere, has the profiles and the recordings and needs no source tree."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without fetching anything."""
    pytest.importorskip("hatchling", reason="the wheel is built with hatchling: pip install '.[test]'")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("vtune_tui-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with the wheel installed in it, and nothing else."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=120)
    return target


def run(installed, cwd, code):
    """Run `code` in an interpreter that finds the installed vtune first, outside the source tree."""
    env = {**os.environ, "PYTHONPATH": str(installed), "VTUNE_CONFIG": str(cwd), "VTUNE_DATA": str(cwd)}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_the_demo_profile_opens_from_the_wheel(installed, tmp_path):
    code = (
        "import tui; from tui.engine.profile import load; demo = load('demo')\n"
        "print(tui.__file__); print(demo.path); print(demo.engine.model)"
    )
    module, path, model = run(installed, tmp_path, code)[:3]
    assert Path(module).is_relative_to(installed)
    assert Path(path).is_relative_to(installed)
    assert model == "bundled:smollm2-135m"


def test_every_profile_and_recording_of_the_tree_is_in_the_wheel(wheel):
    shipped = set(zipfile.ZipFile(wheel).namelist())
    for kind in ("profiles", "recordings"):
        listed = subprocess.run(["git", "ls-files", kind], cwd=ROOT, capture_output=True, text=True)
        files = listed.stdout.split() if listed.returncode == 0 else []
        missing = [file for file in files if f"tui/bundled/{file}" not in shipped]
        assert not missing


def test_the_recording_of_the_demo_profile_opens_from_the_wheel(installed, tmp_path):
    code = (
        "from tui.engine.profile import load; from tui.traffic.recording import load as recording\n"
        "found = recording(load('demo').traffic.recording); print(found.path); print(len(found.requests))"
    )
    path, count = run(installed, tmp_path, code)[:2]
    assert Path(path).is_relative_to(installed)
    assert int(count) > 0


def test_the_wheel_brings_the_command_and_the_scripts_for_the_engines_interpreter(wheel):
    archive = zipfile.ZipFile(wheel)
    entry = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "vtune = tui.cli:" in archive.read(entry).decode()
    for script in ("probe", "convert", "keeper"):
        assert f"tui/engine/inside/{script}.py" in archive.namelist()


def test_the_stylesheet_of_the_app_is_in_the_wheel(wheel):
    sheets = {str(path.relative_to(ROOT)) for path in (ROOT / "tui").rglob("*.tcss")}
    assert sheets <= set(zipfile.ZipFile(wheel).namelist())
