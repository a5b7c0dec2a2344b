"""One engine from launch to the last byte of its memory: states, start-up, readiness, stop, death."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tui.engine import health
from tui.engine.diagnosis import Diagnosis, diagnose, read_log
from tui.engine.keeper import Child, Ending, Keeper
from tui.engine.launch import Launch
from tui.engine.startup import LogFollower, Phases, clean
from tui.engine.warm import environment
from tui.errors import Exit, VtuneError

_LOOK_S = 0.1  # between two looks at the log
_TOKEN_S = 120.0  # for the first token: compilation may be left for it
_PORT_FREE_S = 5.0
_DYING_S = 6.0  # vLLM's server ends up to 5 s after its core (P/entrypoints/launchers/launcher.py:312)

# Warnings that concern a lever; most others repeat in every start.
_TELLING = re.compile(
    r"disabling chunked prefill|[Aa]sync scheduling .*disabled|may cause accuracy drop|max_num_scheduled_tokens is set"
    r"|won't work with speculative decoding|prefers block_size|Setting kv cache block size|not support"
    r"|will be (?:disabled|ignored)|Unknown vLLM environment variable|exceeds max_num_seqs|duplicate keys"
)


class EngineFailed(VtuneError):
    """The engine did not start; `diagnosis.cause` tells a retry ("port-taken") from a refusal."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.what, diagnosis.mend, Exit.ENGINE)
        self.diagnosis = diagnosis


class Engine:
    """A vLLM server under the keeper. `on_event` gets dicts: kind "state", "phase", "warning", "died".

    States: starting, warming, ready, stopping, stopped, failed, died. `start` leads to warming; the session calls
    `warmed` once it has warmed the engine up.
    """

    def __init__(
        self,
        launch: Launch,
        keeper: Keeper,
        log_path: Path,
        on_event: Callable[[dict[str, Any]], None],
        start_timeout_s: float = 600.0,
    ) -> None:
        self.launch = launch
        self.log_path = log_path
        self.state = "none"
        self.phases = Phases()
        self.start_s: float | None = None  # from launch to the first real token
        self.died: asyncio.Future[Diagnosis] = asyncio.get_running_loop().create_future()
        self._keeper = keeper
        self._on_event = on_event
        self._timeout_s = start_timeout_s
        self._child: Child | None = None
        self._begun = 0.0
        self._ready_at = 0  # bytes of the log; what comes later is the run's
        self._watch: asyncio.Task[None] | None = None
        self._warned: set[str] = set()

    # -- start

    async def start(self) -> None:
        """Launch, follow the phases, and return when our own process has given one real token.

        Raises EngineFailed with the cause; nothing of the engine is left then.
        """
        self._begun = time.monotonic()
        self._become("starting")
        try:
            self._child = await self._launch()
            await self._come_up(self._child)
        except VtuneError as error:
            await self._fail(error)
            raise
        except BaseException:
            await self._end(grace_s=1.0)  # cancelled: the user quit or changed their mind
            self._become("stopped")
            raise
        self.start_s = time.monotonic() - self._begun
        self._ready_at = self.log_path.stat().st_size
        self._become("warming")
        self._watch = asyncio.create_task(self._wait_for_death(self._child))

    async def _launch(self) -> Child:
        launch = self.launch
        return await self._keeper.launch(launch.launch_id, list(launch.argv), environment(launch), self.log_path)

    async def _come_up(self, child: Child) -> None:
        follower = asyncio.create_task(self._follow(child))
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                httpx.AsyncClient(base_url=self.launch.url, trust_env=False) as client,
            ):
                while not await self._answers(client, child):
                    await asyncio.wait([child.exited], timeout=_LOOK_S)
                    if child.exited.done():
                        await self._explain(child)
                await self._prove(client, child)
        except TimeoutError:
            raise EngineFailed(self._too_slow()) from None
        finally:
            follower.cancel()

    async def _answers(self, client: httpx.AsyncClient, child: Child) -> bool:
        """Whether /health is 200 and it is our process that says so; raises if another one does."""
        if not await health.healthy(client):
            return False
        holders = await asyncio.to_thread(health.port_holders, self.launch.port, child.members())
        if holders is None:
            return True  # no /proc: the launch stays alive and the port answers; that must do
        if not holders:
            return False  # it went away in between
        ours = set(child.members())
        if any(holder.pid in ours for holder in holders):
            return True
        raise EngineFailed(
            Diagnosis(
                f"port {self.launch.port} is answered by {holders[0].words}, not by the engine that vtune started",
                "end that server, or choose another port (port: auto)",
                "port-taken",
            )
        )

    async def _prove(self, client: httpx.AsyncClient, child: Child) -> None:
        token = asyncio.create_task(health.one_token(client, self.launch, _TOKEN_S))
        await asyncio.wait([token, child.exited], return_when=asyncio.FIRST_COMPLETED)
        if child.exited.done():
            token.cancel()
            await self._explain(child)
        if problem := await token:
            await asyncio.wait([child.exited], timeout=_DYING_S)
            if child.exited.done():
                await self._explain(child)
            what, mend = f"the engine is up but gives no token: {problem}", f"read the log: {self.log_path}"
            raise EngineFailed(Diagnosis(what, mend, "no-token"))

    async def _explain(self, child: Child) -> None:
        """The first process has ended: wait for the rest, so that the log is whole, and say why."""
        ending = child.exited.result()
        await asyncio.shield(child.gone)
        raise EngineFailed(diagnose(read_log(self.log_path), ending, self.launch, self.log_path))

    def _too_slow(self) -> Diagnosis:
        found = diagnose(read_log(self.log_path), None, self.launch, self.log_path)
        if found.cause != "unknown":
            return found
        return Diagnosis(
            f"the engine was not ready after {self._timeout_s:.0f} s, it was at: {self.phases.current}",
            f"read the log: {self.log_path}",
            "too-slow",
        )

    async def _follow(self, child: Child) -> None:
        """Feed the log to the phases. The log is a file: a suspended vtune never blocks the engine."""
        log = LogFollower(self.log_path)
        self._on_event(self._phase_event())
        while True:
            for raw in log.read(last=child.exited.done()):
                line = clean(raw)
                if self.phases.feed(line, time.monotonic() - self._begun):
                    self._on_event(self._phase_event())
                if line.level == "WARNING" and line.text not in self._warned and _TELLING.search(line.text):
                    self._warned.add(line.text)
                    self._on_event({"kind": "warning", "text": line.text})
            await asyncio.sleep(_LOOK_S)

    # -- after the start

    def warmed(self) -> None:
        """The session has warmed the engine up."""
        self._become("ready")

    @property
    def pid(self) -> int | None:
        """The server's own process."""
        return self._child.pid if self._child else None

    def pids(self) -> list[int]:
        """Every living process of the engine, for its memory."""
        return self._child.members() if self._child else []

    async def _wait_for_death(self, child: Child) -> None:
        ending = await asyncio.shield(child.exited)
        if self.state in ("stopping", "stopped"):
            return
        await asyncio.shield(child.gone)
        diagnosis = self._diagnose_death(ending)
        self._become("died")
        self._on_event({"kind": "died", "what": diagnosis.what, "mend": diagnosis.mend, "cause": diagnosis.cause})
        if not self.died.done():  # a waiter that was cancelled took the future with it
            self.died.set_result(diagnosis)

    def _diagnose_death(self, ending: Ending) -> Diagnosis:
        with self.log_path.open("rb") as log:
            log.seek(self._ready_at)
            text = log.read(8 << 20).decode("utf-8", "replace")
        return diagnose(text, ending, self.launch, self.log_path)

    # -- the end

    async def stop(self, grace_s: float = 10.0) -> None:
        """End every member and wait until none is left and the port is free; safe to call in any state.

        Raises VtuneError when something survives: the next start would meet it.
        """
        if self.state in ("none", "stopped", "failed", "died"):
            return
        self._become("stopping")
        await self._end(grace_s)
        self._become("stopped")
        deadline = time.monotonic() + _PORT_FREE_S
        while not health.port_is_free(self.launch.host, self.launch.port):
            if time.monotonic() > deadline:
                holders = await asyncio.to_thread(health.port_holders, self.launch.port, []) or []
                who = holders[0].words if holders else "nobody that can be seen"
                raise VtuneError(f"port {self.launch.port} is still held by {who}", "choose another port", Exit.ENGINE)
            await asyncio.sleep(_LOOK_S)

    async def _end(self, grace_s: float) -> None:
        if self._child is not None:
            await self._child.stop(grace_s)

    async def _fail(self, error: VtuneError) -> None:
        await self._end(grace_s=1.0)
        if self.state in ("stopping", "stopped"):
            return  # somebody else ended it meanwhile
        cause = error.diagnosis.cause if isinstance(error, EngineFailed) else "error"
        self._become("failed", what=error.what, mend=error.mend, cause=cause)

    # -- events

    def _become(self, state: str, **more: Any) -> None:
        self.state = state
        self._on_event({"kind": "state", "state": state, **more})

    def _phase_event(self) -> dict[str, Any]:
        now = time.monotonic() - self._begun
        return {"kind": "phase", "name": self.phases.current, "at_s": now, "seconds": self.phases.seconds(now)}


def next_log(folder: Path) -> Path:
    """The next free engine-N.log of a session's folder."""
    names = (re.fullmatch(r"engine-(\d+)\.log", file.name) for file in folder.glob("engine-*.log"))
    taken = [int(name[1]) for name in names if name]
    return folder / f"engine-{max(taken, default=0) + 1}.log"
