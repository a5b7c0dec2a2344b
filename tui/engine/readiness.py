"""One attempt of an engine to come up: its log followed, its port proven to be ours, one real token."""

import asyncio
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tui.engine import health
from tui.engine.diagnosis import Diagnosis, diagnose, read_log
from tui.engine.keeper import Child
from tui.engine.launch import Launch
from tui.engine.startup import Line, LogFollower, Phases, clean
from tui.errors import Exit, VtuneError

_LOOK_S = 0.1  # between two looks at the log and at /health
_TOKEN_S = 120.0  # for the first token: compilation may be left for it
_DYING_S = 6.0  # vLLM's server ends up to 5 s after its core (P/entrypoints/launchers/launcher.py:312)
_TICKS = os.sysconf("SC_CLK_TCK")

# Warnings that concern a lever; most others repeat in every start.
_TELLING = re.compile(
    r"disabling chunked prefill|[Aa]sync scheduling .*disabled|may cause accuracy drop|max_num_scheduled_tokens is set"
    r"|won't work with speculative decoding|prefers block_size|Setting kv cache block size|not support"
    r"|will be disabled|(?<!inductor compilation )will be ignored|Unknown vLLM environment variable"
    r"|exceeds max_num_seqs|duplicate keys"
    # P/v1/worker/cpu_worker.py:131, P/config/speculative.py:1382
    r"|significant performance loss|lower acceptance rate"
    # P/model_executor/model_loader/weight_cache/ipc_loader.py
    r"|Weight cache unusable|Cannot query weight cache daemon"
)


class EngineFailed(VtuneError):
    """The engine did not start; `diagnosis.cause` tells a retry ("port-taken") from a refusal."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.what, diagnosis.mend, Exit.ENGINE)
        self.diagnosis = diagnosis


class Readiness:
    """Waits for one child, asked for at `begun` (monotonic), whose log begins at `offset`.

    `still_s`: give up when it neither logs nor computes for so long, as a bad fork would.
    """

    def __init__(
        self,
        launch: Launch,
        child: Child,
        log: Path,
        on_event: Callable[[dict[str, Any]], None],
        *,
        begun: float,
        offset: int,
        timeout_s: float,
        still_s: float | None = None,
    ) -> None:
        self.phases = Phases()
        self._launch = launch
        self._child = child
        self._log = log
        self._offset = offset
        self._lines = LogFollower(log, offset)
        self._on_event = on_event
        self._timeout_s = timeout_s
        self._still_s = still_s
        self._begun = begun
        self._warned: set[str] = set()

    async def wait(self) -> None:
        """Return when our own process has given a token. Raises EngineFailed with the cause."""
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._come_up())]
        if self._still_s is not None:
            tasks.append(asyncio.create_task(self._notice_standstill(self._still_s)))
        try:
            async with asyncio.timeout(self._timeout_s):
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except TimeoutError:
            raise EngineFailed(self._too_slow()) from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._read()

    async def _come_up(self) -> None:
        async with httpx.AsyncClient(base_url=self._launch.url, trust_env=False) as client:
            while not await self._answers(client):
                await asyncio.wait([self._child.exited], timeout=_LOOK_S)
                if self._child.exited.done():
                    await self._explain()
            await self._prove(client)

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        """Whether /health is 200 and it is our process that says so; raises if another one does."""
        if not await health.healthy(client):
            return False
        ours = self._child.members()
        holders = await asyncio.to_thread(health.port_holders, self._launch.port, ours)
        if holders is None:
            return True  # no /proc: the launch lives and the port answers; that must do
        if not holders:
            return False  # it went away in between
        if any(holder.pid in ours for holder in holders):
            return True
        raise EngineFailed(
            Diagnosis(
                f"port {self._launch.port} is answered by {holders[0].words}, not by the engine that vtune started",
                "end that server, or choose another port (port: auto)",
                "port-taken",
            )
        )

    async def _prove(self, client: httpx.AsyncClient) -> None:
        token = asyncio.create_task(health.one_token(client, self._launch, _TOKEN_S))
        try:
            await asyncio.wait([token, self._child.exited], return_when=asyncio.FIRST_COMPLETED)
            if token.done() and token.result() is not None:
                await asyncio.wait([self._child.exited], timeout=_DYING_S)
        finally:
            token.cancel()
        if self._child.exited.done():
            await self._explain()
        if problem := token.result():
            what, mend = f"the engine is up but gives no token: {problem}", f"read the log: {self._log}"
            raise EngineFailed(Diagnosis(what, mend, "no-token"))

    async def _explain(self) -> None:
        """The first process has ended: wait for the rest, so that the log is whole, and say why."""
        ending = self._child.exited.result()
        await asyncio.shield(self._child.gone)
        raise EngineFailed(diagnose(read_log(self._log, self._offset), ending, self._launch, self._log))

    def _too_slow(self) -> Diagnosis:
        found = diagnose(read_log(self._log, self._offset), None, self._launch, self._log)
        if found.cause != "unknown":
            return found
        what = f"the engine was not ready after {self._timeout_s:.0f} s, it was at: {self.phases.current}"
        return Diagnosis(what, f"read the log: {self._log}", "too-slow")

    async def _follow(self) -> None:
        """Feed the log to the phases. The log is a file: a suspended vtune never blocks the engine."""
        while True:
            self._read()
            await asyncio.sleep(_LOOK_S)

    def _read(self) -> None:
        for raw in self._lines.read(last=self._child.exited.done()):
            line = clean(raw)
            if self.phases.feed(line, time.monotonic() - self._begun):
                self._tell_phase()
            if line.text not in self._warned and _telling(line):
                self._warned.add(line.text)
                self._on_event({"kind": "warning", "text": line.text})

    def _tell_phase(self) -> None:
        now = time.monotonic() - self._begun
        event = {"kind": "phase", "name": self.phases.current, "at_s": now, "seconds": self.phases.seconds(now)}
        self._on_event(event)

    async def _notice_standstill(self, still_s: float) -> None:
        """A fork that took over a held lock waits for ever: no line, no CPU time."""
        moved_at, seen = time.monotonic(), (0, 0.0)
        while True:
            await asyncio.sleep(min(1.0, still_s / 4))
            members = self._child.members()
            now = (self._log.stat().st_size if self._log.exists() else 0, sum(map(_cpu_s, members)))
            # An engine that waits for its worker polls: that is no progress.
            if now[0] != seen[0] or now[1] - seen[1] > still_s / 20 or not members:
                moved_at, seen = time.monotonic(), now
            elif time.monotonic() - moved_at > still_s:
                what = f"the engine stood still for {still_s:.0f} s at: {self.phases.current}"
                raise EngineFailed(Diagnosis(what, f"read the log: {self._log}", "stood-still"))


def _telling(line: Line) -> bool:
    # An exception that vLLM survives, by reading the weights from disk.
    return line.text.startswith("Weight cache IPC loading failed") or (
        line.level == "WARNING" and bool(_TELLING.search(line.text))
    )


def _cpu_s(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0.0
    fields = stat[stat.rfind(b")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
