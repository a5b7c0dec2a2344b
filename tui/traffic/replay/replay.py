"""The parent's side of a replay: starts the child, reads its ticks, tells it to stop."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tui.errors import Exit, VtuneError
from tui.traffic.child import Child
from tui.traffic.replay.runfile import read_end, read_outcomes
from tui.traffic.replay.spec import ReplaySpec
from tui.traffic.tick import Tick

_TOLD = ("kind", "total", "ok", "failed", "cancelled", "duration_s", "fidelity")  # of the run file's end line

EndKind = Literal["done", "drained", "cancelled", "failed-fast", "orphaned", "died"]


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """How a replay ended. `died` means that its process was killed or broke; the lines written so far are readable.

    `fidelity` is that of the run file's end line: clock, kernel_reads, user_reads, clock_steps, coalesced_events,
    late_reads, scan_mismatches, content_events, max_send_lag_s, retries, busy_retries, paused_s, replayer_cpu_share,
    ticks_dropped; empty when the process died.
    """

    kind: EndKind
    total: int
    ok: int
    failed: int
    cancelled: int
    duration_s: float | None = None
    fidelity: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def sent(self) -> int:
        return self.ok + self.failed + self.cancelled


class Replay:
    """A replay in a process of its own. Make it with `start`."""

    def __init__(self, spec: ReplaySpec, child: Child) -> None:
        self.spec = spec
        self._child = child
        self._started: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._ticks: list[bytes] = []  # as they came; parsed for who wants them, for that costs the sender's processor
        self._news = asyncio.Event()  # a tick came, or no more will
        self._silent = False
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(cls, spec: ReplaySpec) -> "Replay":
        """Start the child and wait until it has accepted the spec; raises VtuneError when it refuses."""
        replay = cls(spec, await Child.start("tui.traffic.replay.child", spec.to_json()))
        try:
            message = await asyncio.shield(replay._started)
        except BaseException:
            await replay._stop()
            raise
        if (refused := message.get("refused")) is not None:
            await replay._stop()
            raise VtuneError(refused["what"], refused["mend"], Exit(refused["code"]))
        return replay

    @property
    def pid(self) -> int:
        return self._child.process.pid

    async def ticks(self) -> AsyncIterator[Tick]:
        """Ticks until the end. A slow consumer gets fewer, merged: nothing in `finished` is lost or told twice."""
        while not self._silent or self._ticks:
            await self._news.wait()
            lines, self._ticks = self._ticks, []
            if not self._silent:
                self._news.clear()
            if lines:
                ticks = [Tick.from_json(json.loads(line)["tick"]) for line in lines]
                yield replace(ticks[-1], finished=tuple(ended for tick in ticks for ended in tick.finished))

    async def pause(self) -> None:
        """Send nothing more for now; what was sent goes on, and the schedule waits."""
        await self._child.tell("pause")

    async def resume(self) -> None:
        """Go on where `pause` stopped; what was not due then is later by the length of the pause."""
        await self._child.tell("resume")

    async def drain(self) -> None:
        """Send nothing new, let what runs finish."""
        await self._child.tell("drain")

    async def cancel(self) -> None:
        """End all requests now."""
        await self._child.tell("cancel")

    async def wait(self) -> ReplayEnd:
        """Wait for the child's exit; the run's file is complete then."""
        await asyncio.shield(self._reader)
        code = await self._child.process.wait()
        return self._end(code)

    async def _stop(self) -> None:
        await self._child.end()
        await asyncio.wait([self._reader])

    async def _read(self) -> None:
        rest = b""
        while data := await self._child.stdout.read(1 << 18):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take(line)
        if not self._started.done():
            words = self._child.last_words() or "its process ended at once"
            self._started.set_exception(VtuneError(f"the replay did not start: {words}", "run with --debug", Exit.BUG))
            self._started.exception()  # retrieved: nobody may be waiting
        self._silent = True
        self._news.set()

    def _take(self, line: bytes) -> None:
        if line.startswith(b'{"tick":'):
            self._ticks.append(line)
            self._news.set()
        elif not self._started.done():
            self._started.set_result(json.loads(line))

    def _end(self, code: int) -> ReplayEnd:
        path = Path(self.spec.out_path)
        end = read_end(path)
        if end is not None and code == 0:
            return ReplayEnd(**{name: end[name] for name in _TOLD})
        words = self._child.last_words() or (f"signal {-code}" if code < 0 else f"exit code {code}")
        header, outcomes, _ = read_outcomes(path)
        ok, failed, cancelled = (sum(o.status == s for o in outcomes) for s in ("ok", "failed", "cancelled"))
        return ReplayEnd("died", int(header.get("total", len(outcomes))), ok, failed, cancelled, error=words)
