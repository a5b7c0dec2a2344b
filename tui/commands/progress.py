"""Progress of a session on standard error: a line that moves on a terminal, plain lines elsewhere."""

import sys
import time
from typing import TextIO

from tui.cli import plain
from tui.session.snapshot import LiveRun, Snapshot

EVERY_S = 10.0  # between plain lines of a running replay


class Progress:
    """Listens to snapshots; `close` ends the moving line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._moving = self._stream.isatty()
        self._told: set[object] = set()
        self._next = 0.0
        self._open = False

    def __call__(self, picture: Snapshot) -> None:
        for notice in picture.notices:
            if notice.level != "info":
                # What two levers do to each other is told at every start: of an arm's many, once is enough.
                again = notice.at if notice.level == "error" else None
                self._once(
                    ("notice", again, notice.what),
                    f"{notice.level}: {notice.what}" + (f" ({notice.mend})" if notice.mend else ""),
                )
        engine = picture.engine
        for phase in engine.phases:
            if phase.done:
                self._once((engine.log_path, phase.name), f"  {phase.name} {phase.seconds:.1f} s")
        if engine.state == "ready":
            took = "" if engine.start_s is None else f" after {engine.start_s:.1f} s ({engine.start_kind})"
            self._once(
                (engine.log_path, "ready"),
                f"engine ready{took}: {engine.model} on vLLM {engine.vllm or 'of unknown version'}",
            )
        for sentence in engine.mismatches:
            self._once((engine.log_path, sentence), f"warning: {sentence}")
        if picture.run is not None:
            self._run(picture.run)

    def _run(self, run: LiveRun) -> None:
        if run.state == "preparing":
            self._once((run.number, "preparing"), f"run {run.number}: warming up with unrelated prompts")
            return
        done = run.ok + run.failed + run.cancelled
        left = "" if run.eta_s is None else f", about {run.eta_s:.0f} s left"
        failed = f", {run.failed} failed" if run.failed else ""
        line = f"run {run.number}: {done}/{run.total} done, {run.running} running, {run.waiting} waiting{failed}{left}"
        if self._moving:
            self._stream.write(f"\r\x1b[K{line}")
            self._stream.flush()
            self._open = True
        elif (now := time.monotonic()) >= self._next:
            self._next = now + EVERY_S
            print(line, file=self._stream, flush=True)

    def say(self, line: str) -> None:
        self.close()
        print(plain(line), file=self._stream, flush=True)

    def _once(self, key: object, line: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self.say(line) if not line.startswith("  ") else self._indented(line)

    def _indented(self, line: str) -> None:
        self.close()
        print("  " + plain(line), file=self._stream, flush=True)

    def close(self) -> None:
        if self._open:
            self._stream.write("\r\x1b[K")
            self._open = False
