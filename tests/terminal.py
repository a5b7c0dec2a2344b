"""vtune in a real (pseudo) terminal."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0


class Terminal:
    """vtune under a pty, the stand-in with a tree of processes; what it wrote is in `screen`, raw."""

    def __init__(
        self, *words: str | Path, argv: list[str] | None = None, size: tuple[int, int] = (120, 36), **env: str
    ) -> None:
        """`words` are vtune's; `argv` is a whole command instead, such as a shell that runs it."""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = {**os.environ, "TERM": "xterm-256color", "STANDIN_TREE": "1", "PYTHONPATH": str(ROOT), **env}
        self.process = subprocess.Popen(
            argv or [sys.executable, "-m", "tui", *map(str, words)],
            stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self.screen = ""
        # A read may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, seconds: float) -> bool:
        """Take what comes within `seconds`; False when nothing did."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            self.screen += self._decoder.decode(os.read(self.master, 1 << 16))
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

    def end(self) -> None:
        """What is still there goes with the test."""
        self.process.kill()
        self.process.wait()
        self.close()
