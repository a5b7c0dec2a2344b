"""The engine of a session: launched, proven, watched and ended, every step told to the journal."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import httpx

from tui.engine import applied as read_back
from tui.engine import startup
from tui.engine.applied import Applied
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine
from tui.errors import VtuneError
from tui.session import secrets


class Emit(Protocol):
    """Append an event to the journal and fold it."""

    def __call__(self, kind: str, **values: Any) -> None: ...


class Host:
    """Owns at most one managed engine. Raises VtuneError (exit 3) when a start fails."""

    def __init__(self, emit: Emit, folder: Path, client: httpx.AsyncClient) -> None:
        self._emit = emit
        self._folder = folder
        self._client = client
        self._keeper: Keeper | None = None
        self._watching: asyncio.Task[None] | None = None
        self.engine: Engine | None = None
        self.launch: Launch | None = None
        self.applied: Applied | None = None
        self.number = 0
        self.on_death: Callable[[], None] = lambda: None

    async def start(self, launch: Launch, profile: str) -> None:
        """Launch, wait until it answers with a real token, read back what it runs."""
        self.number += 1
        number, kind = self.number, "plain"
        self.launch, self.applied = launch, None
        log = self._folder / f"engine-{number}.log"
        known = startup.estimate(profile, kind)
        self._emit("launch", n=number, state="starting", argv=secrets.argv(launch.argv), env=_told(launch.env), python=launch.python,
                   url=launch.url, model=launch.model, asked=launch.asked, log=log.name, start_kind=kind,
                   estimate_s=round(sum(known.values()), 1) if known else None)  # fmt: skip
        self.engine = engine = Engine(launch, await self._keep(), log, lambda event: self._hear(number, event))
        try:
            await engine.start()
        except VtuneError as error:
            self.engine = None
            self._emit("engine", n=number, state="failed", what=error.what, mend=error.mend)
            raise
        except asyncio.CancelledError:
            self.engine = None
            self._emit("engine", n=number, state="stopped")
            raise
        assert engine.start_s is not None
        startup.learn(profile, kind, engine.phases.seconds(engine.start_s))
        self._emit("engine", n=number, state="warming", start_s=round(engine.start_s, 3), start_kind=kind)
        self._watching = asyncio.create_task(self._watch_death(engine, number))
        await self._prove(launch, number)
        engine.warmed()

    async def attach(self, launch: Launch) -> None:
        """Take an engine that vtune does not own: only read what it runs."""
        self.number += 1
        self.launch = launch
        self._emit("launch", n=self.number, state="attached", url=launch.url, model=launch.model, asked={},
                   start_kind="attached")  # fmt: skip
        await self._prove(launch, self.number)

    def unreachable(self, url: str, error: VtuneError) -> None:
        """Tell, once, that nobody answers at the URL to attach to."""
        if self.number == 0:
            self.number = 1
            self._emit("launch", n=1, state="unreachable", url=url, asked={}, start_kind="attached")
            self._emit("engine", n=1, state="unreachable", what=error.what, mend=error.mend)

    async def _prove(self, launch: Launch, number: int) -> None:
        self.applied = applied = await read_back.read(launch.url, launch.asked, self._client, launch.model or None)
        self._emit("applied", n=number, levers=dict(applied.levers), mismatches=list(applied.mismatches),
                   vllm=applied.vllm, model=applied.model, device=applied.device, block_size=applied.block_size,
                   kv_cache_tokens=applied.kv_cache_tokens, max_model_len=applied.max_model_len,
                   warnings=list(applied.warnings))  # fmt: skip

    def _hear(self, number: int, event: dict[str, Any]) -> None:
        if event["kind"] == "phase":
            self._emit("phase", n=number, name=event["name"])
        elif event["kind"] == "warning":
            self._emit("warning", n=number, text=event["text"])

    async def _watch_death(self, engine: Engine, number: int) -> None:
        failure = await engine.died
        if self.engine is engine:
            self.engine = None
            self._emit("engine", n=number, state="died", what=failure.what, mend=failure.mend)
            self.on_death()

    async def stop(self, grace_s: float = 10.0) -> None:
        """End the engine and wait until nothing of it is left."""
        if self.engine is None:
            return
        engine, self.engine = self.engine, None
        if self._watching is not None:
            self._watching.cancel()
        self._emit("engine", n=self.number, state="stopping")
        await engine.stop(grace_s)
        self._emit("engine", n=self.number, state="stopped")

    async def close(self) -> None:
        """End the engine, then its keeper."""
        try:
            await self.stop()
        finally:
            if self._keeper is not None:
                keeper, self._keeper = self._keeper, None
                await keeper.close()

    async def _keep(self) -> Keeper:
        if self._keeper is None:
            self._keeper = await Keeper.open()
        return self._keeper


def _told(env: Mapping[str, str]) -> dict[str, str]:
    """The environment as another engineer would set it: without the mark by which the keeper knows its own."""
    return {name: value for name, value in secrets.env(env).items() if name != "VTUNE_LAUNCH"}
