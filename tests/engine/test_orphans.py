"""What is left when vtune and its keeper were both killed is found and ended; nothing else is."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import alive, identities, wait_gone

from tui import paths
from tui.engine import orphans
from tui.engine.inside import kin

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not kin.HAVE_PROC, reason="needs /proc")


@pytest.fixture
def made() -> Iterator[set[tuple[int, int]]]:
    """(pid, start) of what a test made on purpose to have no owner; ended with the test."""
    who: set[tuple[int, int]] = set()
    yield who
    for pid, _ in alive(who):
        os.kill(pid, signal.SIGKILL)


def killed_with_its_keeper(made: set[tuple[int, int]], folder: Path, *modes: str) -> str:
    """The id of a launch whose owner and keeper were killed at once."""
    command = [sys.executable, str(HERE / "owner.py"), str(folder), *modes]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    told = json.loads(owner.stdout.readline())
    made |= identities(told["pids"])
    keeper = identities([told["keeper"]])
    assert orphans.find() == [], "an engine with a living keeper is nobody's orphan"
    os.kill(told["keeper"], signal.SIGSTOP)  # so that it can't act before it is killed
    owner.kill()
    os.kill(told["keeper"], signal.SIGKILL)
    owner.wait()
    assert not wait_gone(keeper, 10)
    return f"owned-{owner.pid}"


def test_the_second_net_ends_the_first_process(made: set[tuple[int, int]], tmp_path: Path) -> None:
    killed_with_its_keeper(made, tmp_path)
    assert not wait_gone(made, 5)
    assert orphans.find() == []
    assert not list((paths.state() / "engines").iterdir())


def test_orphans_are_found_and_ended(made: set[tuple[int, int]], tmp_path: Path) -> None:
    launch_id = killed_with_its_keeper(made, tmp_path, "deaf", "deaf-session", "stopped-child")
    (orphan,) = orphans.find()
    assert orphan.launch_id == launch_id and set(orphan.pids) == {pid for pid, _ in made}
    assert orphans.end(orphan, grace_s=0.3) == []
    assert not alive(made)
    assert orphans.find() == [] and not list((paths.state() / "engines").iterdir())


@pytest.mark.parametrize("change", ["boot", "start"])
def test_a_pid_that_was_given_out_again_is_no_orphan(tmp_path: Path, change: str) -> None:
    stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        proc = kin.read(stranger.pid)
        assert proc
        launch = {"id": "x", "pid": proc.pid, "start": proc.start - (change == "start"), "log": ""}
        state = {"schema": "vtune.engines/1", "boot": kin.boot_id() if change == "start" else "another",
                 "keeper": {"pid": 1, "start": -1}, "owner": {}, "launches": [launch]}  # fmt: skip
        file = paths.private_dir(paths.state() / "engines") / "1.json"
        file.write_text(json.dumps(state))
        assert orphans.find() == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    folder = paths.private_dir(paths.state() / "engines")
    for name, content in (("a.json", "{"), ("b.json", "[]"), ("c.json", '{"schema": "other"}')):
        (folder / name).write_text(content)
    assert orphans.find() == []
    assert len(list(folder.iterdir())) == 3
