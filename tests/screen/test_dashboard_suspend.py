"""The app under a shell with job control: ctrl+z gives the terminal back, fg returns to it."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import scenes
from fake import FakeControls
from tui.app import VtuneApp

VtuneApp(FakeControls(scenes.replaying())).run()
"""


class Shell:
    """`script` in a bash with job control on a pseudo-terminal of its own, 80 x 24."""

    def __init__(self, script: str) -> None:
        self._ahead = b""
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["bash", "-m", "-c", script],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)

    def wait_for(self, text: str, seconds: float = 30.0) -> None:
        """Read on until `text`; what comes after it is kept for the next wait."""
        until = time.monotonic() + seconds
        while text.encode() not in self._ahead:
            assert time.monotonic() < until, f"{text!r} was not shown: {self._ahead[-2000:]!r}"
            if select.select([self.master], [], [], 0.2)[0]:
                self._ahead += os.read(self.master, 65_536)
        self._ahead = self._ahead.split(text.encode(), 1)[1]

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


def test_ctrl_z_suspends_and_fg_returns(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(here=str(HERE)))
    # When its job is suspended, the shell says so and takes it up again.
    shell = Shell(f"{sys.executable} {program}; echo SUSPENDED; fg; echo LEFT")
    try:
        shell.wait_for("rag-handbook")
        os.write(shell.master, b"\x1a")
        shell.wait_for("SUSPENDED")
        shell.wait_for("rag-handbook")
        os.write(shell.master, b"\x03")
        shell.wait_for("LEFT")
    finally:
        shell.end()
