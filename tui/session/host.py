"""The engines of a session: started, proven, parked and ended, every step told to the journal."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import httpx

from tui.engine import applied as read_back
from tui.engine import health, kv_size, startup
from tui.engine.applied import Applied
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine
from tui.engine.warm import Starters
from tui.errors import VtuneError
from tui.session import arm as arms
from tui.session import secrets
from tui.session.arm import Arm, Key, Lot
from tui.session.gpu import Gpu
from tui.session.warmup import reset_prefix_cache

UNPARK_S = 5.0  # a parked engine that gives no token within this is started anew


class Emit(Protocol):
    """Append an event to the journal and fold it."""

    def __call__(self, kind: str, **values: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """How engines are started and kept; from the profile's `engine`."""

    warm: bool = True
    park: int = 1


@dataclass(slots=True)
class _Ahead:
    """A start in the background, of an arm that may be applied next."""

    wanted: Key
    number: int
    work: "asyncio.Task[Arm]"


class Host:
    """Serves with one engine at a time. Raises VtuneError (exit 3) when a start fails."""

    def __init__(self, emit: Emit, folder: Path, client: httpx.AsyncClient, policy: Policy = Policy()) -> None:
        self._emit = emit
        self._folder = folder
        self._client = client
        self._policy = policy
        self._keeper: Keeper | None = None
        self._starters: Starters | None = None
        self._lot = Lot()
        self._gpu = Gpu(folder, lambda level, what, mend: emit("notice", level=level, what=what, mend=mend))
        self._ahead: _Ahead | None = None
        self._deaths: set[asyncio.Task[None]] = set()
        self._last = 0  # the newest number given
        self.arm: Arm | None = None
        self.number = 0  # of the engine that serves, or is to
        self.launch: Launch | None = None  # of an attached engine too
        self.applied: Applied | None = None
        self.on_death: Callable[[], None] = lambda: None

    @property
    def engine(self) -> Engine | None:
        return self.arm.engine if self.arm else None

    # -- which engine serves

    async def switch(self, launch: Launch, profile: str) -> None:
        """Serve with `launch`: by the parked engine that runs it, the one started ahead, or a new one."""
        begun = time.monotonic()
        wanted = arms.key(launch)
        if self._ahead is not None and self._ahead.wanted != wanted:
            await self.drop_ahead()
        await self._set_aside(wanted)
        if (parked := self._lot.take(wanted)) is not None and await self._unpark(parked, begun):
            return
        if self._ahead is not None:
            await self._take_ahead(begun)
            return
        self._last += 1
        self.number = self._last
        self._serve(await self._begin(self._last, launch, profile, ahead=False))

    def _serve(self, arm: Arm) -> None:
        self.arm, self.number = arm, arm.number
        self.launch, self.applied = arm.launch, arm.applied

    async def attach(self, launch: Launch) -> None:
        """Take an engine that vtune does not own: only read what it runs."""
        self._last = self.number = 1
        self._emit("launch", n=1, state="attached", url=launch.url, model=launch.model, asked={}, start_kind="attached")
        self.applied = await self._read_back(launch, 1)
        if self.applied.block_size is None and launch.also:  # a router tells nothing of the engines behind it
            self.applied = await self._read_back(replace(launch, url=launch.also[0]), 1)
        self.launch = launch

    def unreachable(self, url: str, error: VtuneError) -> None:
        """Tell, once, that nobody answers at the URL to attach to."""
        if self.number == 0:
            self.number = 1
            self._emit("launch", n=1, state="unreachable", url=url, asked={}, start_kind="attached")
            self._emit("engine", n=1, state="unreachable", what=error.what, mend=error.mend)

    # -- starting

    async def _begin(self, number: int, launch: Launch, profile: str, ahead: bool) -> Arm:
        """Launch, wait until it answers with a real token, read back what it runs."""
        keeper = await self._keep()
        launch = await self._gpu.prepare(launch, keeper)
        warm = self._starters if self._policy.warm else None
        kind = "warm" if warm else "plain"
        log = self._folder / f"engine-{number}.log"
        known = startup.estimate(profile, kind)
        self._emit("launch", n=number, state="starting", ahead=ahead, argv=secrets.argv(launch.argv),
                   env=_told(launch.env), python=launch.python, url=launch.url, model=launch.model,
                   asked=launch.asked, log=log.name, start_kind=kind, install=launch.install,
                   estimate_s=round(sum(known.values()), 1) if known else None)  # fmt: skip
        for text in launch.warnings:
            self._emit("warning", n=number, text=text)
            self._emit("notice", level="warning", what=text, mend=None)
        engine = Engine(launch, keeper, log, lambda event: self._hear(number, event), warm=warm)
        try:
            if in_use := await self._gpu.room(launch):
                self._emit("warning", n=number, text=in_use)
            await engine.start()
            assert engine.start_s is not None
            startup.learn(profile, engine.start_kind, engine.phases.seconds(engine.start_s))
            self._emit("engine", n=number, state="warming", start_s=round(engine.start_s, 3),
                       start_kind=engine.start_kind, pid=engine.pid)  # fmt: skip
            arm = Arm(number, launch, engine, await self._read_back(launch, number))
            await self._gpu.learn(arm, log)
        except VtuneError as error:
            self._gpu.explain(launch, error)
            self._emit("engine", n=number, state="failed", what=error.what, mend=error.mend)
            await engine.stop(1.0)
            raise
        except asyncio.CancelledError:
            await engine.stop(1.0)
            self._emit("engine", n=number, state="stopped")
            raise
        engine.warmed()
        task = asyncio.create_task(self._watch_death(arm))
        self._deaths.add(task)
        task.add_done_callback(self._deaths.discard)
        return arm

    async def _read_back(self, launch: Launch, number: int) -> Applied:
        applied = await read_back.read(
            launch.url, launch.asked, self._client, launch.model or None, launch.expected
        )
        self._emit("applied", n=number, levers=dict(applied.levers), mismatches=list(applied.mismatches),
                   vllm=applied.vllm, model=applied.model, device=applied.device, block_size=applied.block_size,
                   kv_cache_tokens=applied.kv_cache_tokens, max_model_len=applied.max_model_len,
                   engines=applied.engines, kv_bytes=kv_size.of_launch(launch),
                   warnings=list(applied.warnings))  # fmt: skip
        return applied

    def _hear(self, number: int, event: dict[str, Any]) -> None:
        if event["kind"] == "phase":
            self._emit("phase", n=number, name=event["name"])
        elif event["kind"] == "warning":
            self._emit("warning", n=number, text=event["text"])

    async def _watch_death(self, arm: Arm) -> None:
        failure = await asyncio.shield(arm.engine.died)
        self._emit("engine", n=arm.number, state="died", what=failure.what, mend=failure.mend)
        if self.arm is arm:
            self.arm = None
            self.on_death()
        else:
            self._lot.remove(arm)

    # -- parking

    async def _set_aside(self, wanted: Key) -> None:
        """The engine that serves makes room: parked where that is allowed and memory is there, else ended."""
        if self.arm is None:
            return
        arm, self.arm = self.arm, None
        parked = self._policy.park > 0 and arms.can_park(arm)
        while parked and (old := self._lot.surplus(self._policy.park - 1, wanted)) is not None:
            await self._end(old)
        if parked and not (self._lot.holds(wanted) or self._ahead) and not await _room_beside(arm):
            while (old := self._lot.surplus(0)) is not None:
                await self._end(old)
            parked = await _room_beside(arm)
        if not parked:
            await self._end(arm)
            return
        self._lot.put(arm)
        self._emit("engine", n=arm.number, state="parked")

    async def _unpark(self, arm: Arm, begun: float) -> bool:
        """Whether the parked engine still gives a real token; then it serves, with an empty prefix cache."""
        await reset_prefix_cache(self._client, arm.launch.url)
        async with httpx.AsyncClient(base_url=arm.launch.url, trust_env=False, verify=False) as client:
            problem = await health.one_token(client, arm.launch, UNPARK_S)
        if problem is not None:
            self._emit("warning", n=arm.number, text=f"parked engine gave no token ({problem}); started anew")
            await self._end(arm)
            return False
        self._emit("use", n=arm.number, start_kind="parked", start_s=round(time.monotonic() - begun, 3))
        self._serve(arm)
        return True

    # -- head start

    async def start_ahead(self, launch: Launch, profile: str) -> None:
        """Start `launch` in the background, where memory allows, so that `switch` finds it ready."""
        wanted = arms.key(launch)
        if self.arm is None or self._lot.holds(wanted) or wanted == arms.key(self.arm.launch):
            await self.drop_ahead()
            return
        if self._ahead is not None and self._ahead.wanted == wanted:
            return
        await self.drop_ahead()
        if not arms.can_park(self.arm) or not await _room_beside(self.arm):
            return
        self._last += 1
        work = asyncio.create_task(self._begin(self._last, launch, profile, ahead=True))
        work.add_done_callback(_seen)
        self._ahead = _Ahead(wanted, self._last, work)

    async def drop_ahead(self, unfinished_only: bool = False) -> None:
        """End the start in the background; with `unfinished_only`, one that is ready stays."""
        ahead = self._ahead
        if ahead is None or (unfinished_only and ahead.work.done() and not ahead.work.exception()):
            return
        self._ahead = None
        ahead.work.cancel()
        await asyncio.wait([ahead.work])
        if not ahead.work.cancelled() and ahead.work.exception() is None:
            await self._end(ahead.work.result())

    async def _take_ahead(self, begun: float) -> None:
        assert self._ahead is not None
        ahead, self._ahead = self._ahead, None
        self.number = ahead.number
        self._emit("use", n=ahead.number)
        try:
            arm = await ahead.work
        except asyncio.CancelledError:
            ahead.work.cancel()
            raise
        self._emit("use", n=arm.number, start_s=round(time.monotonic() - begun, 3))
        self._serve(arm)

    # -- the end

    async def stop(self) -> None:
        """End the engine that serves and wait until nothing of it is left."""
        if self.arm is not None:
            arm, self.arm = self.arm, None
            await self._end(arm)

    async def stop_all(self) -> None:
        """End the engine that serves, one that starts in the background and those that are parked."""
        await self.drop_ahead()
        await self.stop()
        while (arm := self._lot.surplus(0)) is not None:
            await self._end(arm)

    async def _end(self, arm: Arm) -> None:
        self._emit("engine", n=arm.number, state="stopping")
        self._gpu.ending(arm)
        await arm.engine.stop()
        self._emit("engine", n=arm.number, state="stopped")

    async def close(self) -> None:
        """End every engine, then the starters and their keeper."""
        try:
            await self.stop_all()
            await self._gpu.close()
        finally:
            for task in self._deaths:
                task.cancel()
            if self._starters is not None:
                await self._starters.close()
            if self._keeper is not None:
                keeper, self._keeper = self._keeper, None
                await keeper.close()

    async def _keep(self) -> Keeper:
        if self._keeper is None:
            self._keeper = await Keeper.open()
            self._starters = Starters(self._keeper, self._folder)
        return self._keeper


async def _room_beside(arm: Arm) -> bool:
    return await asyncio.to_thread(arms.has_room, arm.engine.pids())


def _seen(work: "asyncio.Task[Arm]") -> None:
    """A start in the background that fails is told by its events; nobody need await it."""
    if not work.cancelled():
        work.exception()


def _told(env: Mapping[str, str]) -> dict[str, str]:
    """The environment as another engineer would set it: without the mark by which the keeper knows its own."""
    return {name: value for name, value in secrets.env(env).items() if name != "VTUNE_LAUNCH"}
