"""Running a long command: its output goes to a log, a person sees what it is at, a failure shows the last lines."""

import os
import re
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

_BEAT_S = 20.0  # between two signs of life where lines can't be rewritten
_VERBS = "fetching|turning|Collecting|Downloading|Using cached|Building|Installing|Preparing|Processing|Obtaining"
_TELLING = re.compile(rf"^\s*({_VERBS}) ?(.*)")


class Failed(Exception):
    """A command that did not end well; `lines` are the last it said, without control characters."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(lines[-1] if lines else "no output")
        self.lines = list(lines)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(command: Sequence[str], log: Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run `command`, append its output to `log` and return it. Raises Failed."""
    view = _View()
    said: list[str] = []
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"\n$ {' '.join(command)}\n")
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        try:
            for line in _lines(process, view):
                file.write(line + "\n")
                said.append(line)
                view.line(line)
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            view.close()
    if code:
        raise Failed(deque((line for line in said if line.strip()), maxlen=12))
    return "\n".join(said)


def _lines(process: "subprocess.Popen[bytes]", view: "_View"):  # type: ignore[no-untyped-def]
    """Lines as they come, and a beat for the view while none does."""
    assert process.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(timeout=1.0):
                view.beat()
                continue
            block = os.read(process.stdout.fileno(), 65536)
            if not block:
                break
            *lines, pending = (pending + block).split(b"\n")
            yield from (_plain(line) for line in lines)
    if pending:
        yield _plain(pending)


def _plain(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rpartition("\r")[2]
    return "".join(c for c in text.expandtabs() if c.isprintable())


def _short(words: str) -> str:
    """pip's words without who asked for a package, nor the hundred names of those it installs."""
    if words.startswith("collected packages:"):
        return f"{words.count(',') + 1} packages"
    return words.partition(" (from ")[0][:70]


class _View:
    """On a terminal one line that is rewritten; elsewhere a line now and then."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start = self.told = time.monotonic()
        self.now = ""

    def line(self, line: str) -> None:
        if match := _TELLING.match(line):
            self.now = f"{match[1].lower()} {_short(match[2])}"
        self.beat()

    def beat(self) -> None:
        moment = time.monotonic()
        if moment - self.told < (0.2 if self.terminal else _BEAT_S):
            return
        self.told = moment
        text = f"  {moment - self.start:4.0f} s  {self.now or 'working'}"
        if self.terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            say(text)

    def close(self) -> None:
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
