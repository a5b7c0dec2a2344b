"""One engine from launch to the last byte of its memory: states, start, stop, death."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.engine import health
from tui.engine.diagnosis import Diagnosis, diagnose, read_log
from tui.engine.keeper import Child, Ending, Keeper
from tui.engine.launch import Launch
from tui.engine.readiness import EngineFailed, Readiness
from tui.engine.startup import PHASES, Phases
from tui.engine.warm import Starters, WarmRefused, environment
from tui.errors import Exit, VtuneError

__all__ = ["Engine", "EngineFailed", "next_log"]

_PORT_FREE_S = 5.0
_STILL_S = 30.0

# What a warm start may fail of because it is one; any other cause would fail a plain start as well.
_BLAMED_ON_FORK = ("stood-still", "unknown", "killed", "no-token", "too-slow", "core-killed", "worker-killed")


class Engine:
    """A vLLM server under the keeper. `on_event` gets dicts: kind "state", "phase", "warning", "died".

    States: starting, warming, ready, stopping, stopped, failed, died. `start` leads to warming; the session calls
    `warmed` once it has warmed the engine up. With `warm`, it is forked from a starter where that is safe.
    """

    def __init__(
        self,
        launch: Launch,
        keeper: Keeper,
        log_path: Path,
        on_event: Callable[[dict[str, Any]], None],
        start_timeout_s: float = 600.0,
        warm: Starters | None = None,
    ) -> None:
        self.launch = launch
        self.log_path = log_path
        self.state = "none"
        self.start_kind = "plain"  # or warm; known once `start` has returned
        self.start_s: float | None = None  # from `start` to the first real token, a failed warm start included
        self.phases = Phases()  # of the newest attempt
        self.died: asyncio.Future[Diagnosis] = asyncio.get_running_loop().create_future()
        self._keeper = keeper
        self._on_event = on_event
        self._timeout_s = start_timeout_s
        self._warm = warm
        self._child: Child | None = None
        self._ready_at = 0  # bytes of the log; what comes later is the run's
        self._watch: asyncio.Task[None] | None = None

    # -- start

    async def start(self) -> None:
        """Launch, follow the phases, and return when our own process has given one real token.

        Raises EngineFailed with the cause; nothing of the engine is left then.
        """
        begun = time.monotonic()
        self._become("starting")
        try:
            if not await self._start_warm():
                await self._start_plain()
        except VtuneError as error:
            await self._fail(error)
            raise
        except BaseException:
            await self._end(grace_s=1.0)  # cancelled: the user quit or changed their mind
            self._become("stopped")
            raise
        self.start_s = time.monotonic() - begun
        self._ready_at = self._log_size()
        self._become("warming")
        assert self._child
        self._watch = asyncio.create_task(self._wait_for_death(self._child))

    async def _start_plain(self) -> None:
        self.start_kind = "plain"
        launch, attempt = self.launch, self._attempt()
        argv = list(launch.argv)
        self._child = await self._keeper.launch(launch.launch_id, argv, environment(launch), self.log_path)
        await self._come_up(self._child, attempt, None)

    async def _start_warm(self) -> bool:
        """Whether it came up from a starter; where it did not, why is told. Raises what a plain start would too."""
        if self._warm is None:
            return False
        self.start_kind, attempt = "warm", self._attempt()
        try:
            self._child = await self._warm.launch(self.launch, self.log_path)
            await self._come_up(self._child, attempt, _STILL_S)
        except WarmRefused as refusal:
            self._on_event({"kind": "warning", "text": refusal.what})
            return False
        except EngineFailed as failure:
            if failure.diagnosis.cause not in _BLAMED_ON_FORK or self.state != "starting":
                raise
            await self._end(grace_s=1.0)
            self._on_event({"kind": "warning", "text": f"started plainly, for the warm start failed: {failure.what}"})
            return False
        return True

    def _attempt(self) -> dict[str, Any]:
        """What an attempt begins with: its time, and where its part of the log does."""
        self._on_event({"kind": "phase", "name": PHASES[0], "at_s": 0.0, "seconds": {PHASES[0]: 0.0}})
        return {"begun": time.monotonic(), "offset": self._log_size()}

    async def _come_up(self, child: Child, attempt: dict[str, Any], still_s: float | None) -> None:
        limits = {"timeout_s": self._timeout_s, "still_s": still_s}
        readiness = Readiness(self.launch, child, self.log_path, self._on_event, **attempt, **limits)
        self.phases = readiness.phases
        await readiness.wait()

    def _log_size(self) -> int:
        return self.log_path.stat().st_size if self.log_path.exists() else 0

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
        return diagnose(read_log(self.log_path, self._ready_at), ending, self.launch, self.log_path)

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
            await asyncio.sleep(0.1)

    async def _end(self, grace_s: float) -> None:
        if self._child is not None:
            await self._child.stop(grace_s)

    async def _fail(self, error: VtuneError) -> None:
        await self._end(grace_s=1.0)
        if self.state in ("stopping", "stopped"):
            return  # somebody else ended it meanwhile
        cause = error.diagnosis.cause if isinstance(error, EngineFailed) else "error"
        self._become("failed", what=error.what, mend=error.mend, cause=cause)

    def _become(self, state: str, **more: Any) -> None:
        self.state = state
        self._on_event({"kind": "state", "state": state, **more})


def next_log(folder: Path) -> Path:
    """The next free engine-N.log of a session's folder."""
    names = (re.fullmatch(r"engine-(\d+)\.log", file.name) for file in folder.glob("engine-*.log"))
    taken = [int(name[1]) for name in names if name]
    return folder / f"engine-{max(taken, default=0) + 1}.log"
