"""vtune in a real (pseudo) terminal: every way out leaves no engine and no held port.

The engine is the stand-in with an EngineCore and a worker process of its own, as vLLM has on a CPU.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from made import members, runs

from tui.session import folder, state

ROOT = Path(__file__).parent.parent
PATIENCE = 30.0


class Terminal:
    """vtune under a pty of 120x36; what it wrote is in `screen`, escape codes and all."""

    def __init__(self, profile: Path) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        env = {**os.environ, "TERM": "xterm-256color", "STANDIN_TREE": "1", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tui", str(profile)],
            stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self.screen = ""

    def read(self, seconds: float) -> bool:
        """Take what comes within `seconds`; False when nothing did."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            self.screen += os.read(self.master, 1 << 16).decode("utf-8", "replace")
        except OSError:  # the other end is closed
            return False
        return True

    def until(self, word: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while word not in self.plain:
            assert time.monotonic() < deadline, f"{word!r} did not appear in {self.plain[-2000:]!r}"
            assert self.process.poll() is None, self.plain[-2000:]
            self.read(0.2)

    @property
    def plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?<>=$]*[A-Za-z]|\x1b\][^\x07]*\x07", "", self.screen)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.plain[-2000:]
            self.read(0.1)
        while self.read(0.05):
            pass
        return self.process.returncode

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


def engine_pids() -> list[int]:
    """Members of the engine that the newest session started."""
    engine = state.load(folder.existing()[-1]).engine
    assert engine is not None and engine.url is not None
    return members(engine.url)


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    """Whether all of them end in time; a zombie has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not [pid for pid in pids if runs(pid)]:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def terminal(standin_profile):
    made = Terminal(standin_profile)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.wait()
    made.close()


@pytest.fixture
def ready(terminal):
    """A dashboard whose engine is ready, and the pids of that engine."""
    terminal.until("● ready")
    pids = engine_pids()
    assert len(pids) >= 2, "the stand-in should have a tree of processes"
    return terminal, pids


def test_q_quits_and_says_where_the_session_is(ready):
    terminal, pids = ready
    terminal.press("q")
    assert terminal.wait() == 0
    assert gone(pids)
    assert f"session {folder.existing()[-1]}" in terminal.plain
    assert state.load(folder.existing()[-1]).closed


def test_ctrl_c_quits(ready):
    terminal, pids = ready
    terminal.press("\x03")
    terminal.wait()
    assert gone(pids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_ends_the_engine_too(ready, number):
    terminal, pids = ready
    terminal.process.send_signal(number)
    assert terminal.wait() == 128 + number
    assert gone(pids)
    assert state.load(folder.existing()[-1]).closed


def test_a_closed_terminal_ends_the_engine(ready):
    terminal, pids = ready
    terminal.close()
    assert terminal.process.wait(PATIENCE) is not None
    assert gone(pids)


def test_kill_9_leaves_no_engine_and_a_journal_that_opens(ready):
    terminal, pids = ready
    terminal.process.kill()
    terminal.process.wait()
    assert gone(pids)
    told = state.load(folder.existing()[-1])
    assert told.engine is not None and told.engine.state == "ready" and not told.closed


def test_a_failed_start_is_shown_and_leaves_nothing(standin_profile):
    text = standin_profile.read_text().replace('STANDIN_START_S: "0.1"', "STANDIN_REFUSE: block-size")
    standin_profile.write_text(text)
    terminal = Terminal(standin_profile)
    try:
        terminal.until("failed to start")
        terminal.until("cause")
        terminal.until("block-size")
        assert not [pid for pid in engine_pids() if runs(pid)]
        terminal.press("q")
        assert terminal.wait() == 0
    finally:
        terminal.close()
