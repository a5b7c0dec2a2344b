"""vtune in a terminal of its own, its keys pressed, recorded as an asciicast (version 2)."""

import fcntl
import json
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from terminal import Terminal  # noqa: E402

from tui.session import state  # noqa: E402

SIZE = (120, 36)


class Cast(Terminal):
    """`record` begins to keep what comes, with the time; a session's journal says when a step is done."""

    def __init__(self, *words: str) -> None:
        super().__init__(argv=[sys.executable, "-m", "tui", *words], size=SIZE, COLORTERM="truecolor")
        self._began: float | None = None
        self.events: list[tuple[float, str]] = []

    def read(self, seconds: float) -> bool:
        before = len(self.screen)
        came = super().read(seconds)
        if came and self._began is not None:
            self.events.append((time.monotonic() - self._began, self.screen[before:]))
        return came

    def record(self) -> None:
        """From a whole screen on: another size and back makes vtune paint one."""
        for width in (SIZE[0] - 1, SIZE[0]):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], width, 0, 0))
            if width == SIZE[0]:
                self._began = time.monotonic()
            self.wait_for(1.0)

    def wait_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def told(self, folder: Path, wanted: Callable[[state.State], bool], patience: float = 300.0) -> None:
        """Until the session in `folder` is as wanted. Raises SystemExit when the engine fails or it takes too long."""
        deadline = time.monotonic() + patience
        while True:
            self.wait_for(0.5)
            seen = state.load(folder) if (folder / "journal.jsonl").exists() else state.State()
            if wanted(seen):
                return
            if seen.engine is not None and seen.engine.state in ("failed", "died"):
                raise SystemExit(f"the engine {seen.engine.state}: {seen.engine.failure}")
            if any(run.state in ("broken", "cancelled") for run in seen.runs.values()):
                raise SystemExit(f"a replay broke: {seen.notices[-1:]}")
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"vtune did not come there: {self.plain[-1000:]}")

    def write(self, path: Path, disguised: Callable[[str], str]) -> None:
        header = {"version": 2, "width": SIZE[0], "height": SIZE[1], "title": "vtune: prefix caching on, beside off",
                  "env": {"TERM": "xterm-256color"}}  # fmt: skip
        rows = [json.dumps([round(at, 3), "o", disguised(text)], ensure_ascii=False) for at, text in self.events]
        path.write_text("\n".join([json.dumps(header), *rows]) + "\n")
