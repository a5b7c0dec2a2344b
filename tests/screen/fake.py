"""A session that is not there: `FakeControls` for tests, and a made-up run of it to look at.

``python tests/screen/fake.py`` opens the dashboard on it; keys work as far as the pretence goes.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import scenes

from tui.errors import VtuneError
from tui.session.snapshot import EMPTY, Notice, RunView, Snapshot


class FakeControls:
    """Notes every call; pushes whatever snapshot a test wants. `refuse` makes the next call refuse."""

    def __init__(self, snapshot: Snapshot = EMPTY) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.snapshot = snapshot
        self.refuse: VtuneError | None = None
        self._listeners: list[Callable[[Snapshot], None]] = []

    def _note(self, *call: object) -> None:
        if self.refuse is not None:
            refusal, self.refuse = self.refuse, None
            raise refusal
        self.calls.append(call)

    def push(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        for listener in self._listeners:
            listener(snapshot)

    def subscribe(self, listener: Callable[[Snapshot], None]) -> None:
        self._listeners.append(listener)
        if self.snapshot is not EMPTY:
            listener(self.snapshot)

    async def start(self) -> None:
        self._note("start")

    def set_lever(self, name: str, value: str) -> None:
        self._note("set_lever", name, value)

    def undo(self) -> None:
        self._note("undo")

    async def apply(self, running: Literal["drain", "cancel"] = "drain") -> None:
        self._note("apply", running)

    async def replay(self) -> None:
        self._note("replay")

    async def cancel_replay(self, how: Literal["drain", "cancel"] = "cancel") -> None:
        self._note("cancel_replay", how)

    async def hold_replay(self, paused: bool) -> None:
        self._note("hold_replay", paused)

    def set_baseline(self, number: int) -> None:
        self._note("set_baseline", number)

    async def export(self) -> Path:
        self._note("export")
        return Path("report.md")

    async def restart(self) -> None:
        self._note("restart")

    async def end_engine(self) -> None:
        self._note("end_engine")

    async def use_recording(self, ref: str) -> None:
        self._note("use_recording", ref)

    async def record(self, port: int) -> None:
        self._note("record", port)

    async def stop_recording(self) -> None:
        self._note("stop_recording")

    async def close(self) -> None:
        self._note("close")


class Pretence(FakeControls):
    """Plays: the engine starts, replays run, levers change; ten times as fast as the real thing when asked."""

    def __init__(self, speed: float = 1.0, log: Path | None = None) -> None:
        super().__init__()
        self._speed = speed
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self._run: asyncio.Task[None] | None = None

    def _spawn(self, coroutine) -> "asyncio.Task[None]":
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _shift(self, snapshot: Snapshot) -> Snapshot:
        """Scenes live at NOW; the clock of the pretence does too, so ages stand still except where played."""
        return replace(snapshot, levers=self.snapshot.levers or snapshot.levers)

    async def start(self) -> None:
        self._spawn(self._come_up())

    async def _come_up(self) -> None:
        began = time.monotonic()
        while (elapsed := (time.monotonic() - began) * self._speed) < 25.4:
            self.push(self._shift(replace(scenes.starting(self._log, elapsed), runs=self.snapshot.runs)))
            await asyncio.sleep(0.25)
        levers = tuple(replace(one, asked=one.pending or one.asked, pending=None) for one in self.snapshot.levers)
        self.push(
            scenes.ready(
                levers=levers, runs=self.snapshot.runs, engine=scenes.engine(since=scenes.NOW - 1, log_path=self._log)
            )
        )

    def _on(self, name: str) -> bool:
        return any(lever.name == name and lever.asked != "off" for lever in self.snapshot.levers)

    async def replay(self) -> None:
        if self.snapshot.engine.state != "ready":
            raise VtuneError("the engine is not ready", "wait for it, or R starts it again")
        if self.snapshot.run is not None:
            raise VtuneError("a replay is running already", "x ends it")
        self._run = self._spawn(self._play())

    async def _play(self) -> None:
        began, total, number = time.monotonic(), 32, len(self.snapshot.runs) + 1
        caching, speculation = self._on("prefix-caching"), self._on("speculative")
        rows = scenes.finished(total, caching, seed=number)
        while (elapsed := (time.monotonic() - began) * self._speed) < 100:
            done = min(total, int(elapsed / 100 * total))
            live = replace(
                scenes.live(done, total, max(8.0, elapsed)),
                number=number,
                finished=rows[:done],
                started=scenes.NOW - elapsed,
            )
            seen = scenes.metrics(max(2, int(elapsed)), speculation, caching)
            self.push(replace(self.snapshot, run=live, metrics=seen))
            await asyncio.sleep(0.25)
        self._end(number, rows, caching, speculation)

    def _end(self, number: int, rows, caching: bool, speculation: bool) -> None:
        base = not self.snapshot.runs
        run = RunView(number, "baseline" if base else "levers changed", scenes.result(caching, speculation), base, rows,
                      {} if base else scenes.RATIOS)  # fmt: skip
        self.push(replace(self.snapshot, run=None, runs=(*self.snapshot.runs, run)))

    async def cancel_replay(self, how: Literal["drain", "cancel"] = "cancel") -> None:
        if self._run is not None:
            self._run.cancel()
        self.push(replace(self.snapshot, run=None))

    def set_lever(self, name: str, value: str) -> None:
        if value.startswith("?"):
            raise VtuneError(f"{value!r} is no value for {name}", "give one of the words of the hint")
        levers = tuple(
            replace(one, pending=None if value == one.asked else value) if one.name == name else one
            for one in self.snapshot.levers
        )
        self.push(replace(self.snapshot, levers=levers))

    def undo(self) -> None:
        self.push(replace(self.snapshot, levers=tuple(replace(one, pending=None) for one in self.snapshot.levers)))

    async def apply(self, running: Literal["drain", "cancel"] = "drain") -> None:
        await self.cancel_replay()
        self._spawn(self._come_up())

    async def restart(self) -> None:
        self._spawn(self._come_up())

    def set_baseline(self, number: int) -> None:
        runs = tuple(replace(run, baseline=run.number == number) for run in self.snapshot.runs)
        self.push(replace(self.snapshot, runs=runs))

    async def export(self) -> Path:
        self.push(replace(self.snapshot, notices=(Notice(scenes.NOW, "info", "a report would be written now"),)))
        return Path("report.md")

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()


if __name__ == "__main__":
    import sys

    from tui.app import VtuneApp

    VtuneApp(Pretence(speed=float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)).run()
