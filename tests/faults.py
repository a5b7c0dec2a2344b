"""What the tables of faults share: vtune without a terminal, and the law that holds after each row."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from made import left, wait_until
from terminal import ROOT

from tui.engine import health
from tui.session import report, state
from tui.session.state import State


class Vtune:
    """`vtune replay` without a terminal, its session in `folder`; `stderr` is what it has written so far."""

    def __init__(self, tmp_path: Path, profile: Path, recording: Path, *words: str) -> None:
        self.tmp_path, self.folder = tmp_path, tmp_path / "session"
        self._stderr = tmp_path / "stderr"
        argv = [sys.executable, "-m", "tui", "replay", str(recording), "--profile", str(profile), *words]
        env = {**os.environ, "STANDIN_TREE": "1", "PYTHONPATH": str(ROOT)}
        with self._stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*argv, "--session", str(self.folder)], env=env, stderr=stderr, stdout=subprocess.DEVNULL,
                start_new_session=True, cwd=tmp_path,
            )  # fmt: skip

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    @property
    def told(self) -> State:
        return state.load(self.folder)

    def until(self, wanted: Callable[[State], object]) -> None:
        """Wait until the journal tells a state that `wanted` accepts."""

        def reached() -> bool:
            assert self.process.poll() is None, self.stderr
            journal = self.folder / "journal.jsonl"
            return journal.exists() and journal.stat().st_size > 0 and bool(wanted(self.told))

        wait_until(reached)

    def starting(self) -> None:
        self.until(lambda s: s.engine and s.engine.phases)

    def replaying(self) -> None:
        self.until(answered)

    def replay_child(self) -> int:
        """The process that sends the requests."""
        mark = b"tui.traffic.replay.child"
        return next(pid for pid in left(self.tmp_path) if mark in Path(f"/proc/{pid}/cmdline").read_bytes())

    def end(self, number: int, seconds: float = 8.0) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds)


def answered(told: State) -> bool:
    """Whether a run goes on and has had an answer."""
    return bool(told.running and any(row.status == "ok" for row in told.runs[told.running].finished))


def settled(tmp_path: Path, folder: Path) -> State:
    """The law of the table; returns what the reopened session tells."""
    wait_until(lambda: not left(tmp_path), 10)
    told = state.load(folder)
    ports = [int(engine.url.rpartition(":")[2]) for engine in told.engines.values() if engine.url]
    assert all(health.port_is_free("127.0.0.1", port) for port in ports)
    assert report.render(folder).startswith("# vtune report")
    return told
