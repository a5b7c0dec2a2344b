"""A session that opens after the screen's first paint: libraries, profile and recording take a while to load."""

import asyncio
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from tui.errors import Exit, VtuneError
from tui.session.controls import Controls
from tui.session.snapshot import EMPTY, Snapshot

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Unopened(VtuneError):
    """The session can't be opened as it was asked for: nothing is there to be shown, and nothing was started."""


class LateSession:
    """`Controls` that pass everything on to a Session, made of `arguments` by the first `start`."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._arguments: Callable[[], Arguments] = lambda: (arguments, more)
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._session: Any = None
        self._closed = False

    @classmethod
    def of(cls, arguments: Callable[[], Arguments]) -> "LateSession":
        """`arguments` are asked for by the first `start`, in a thread; a VtuneError of theirs is told as `Unopened`."""
        late = cls()
        late._arguments = arguments
        return late

    @property
    def folder(self) -> Path | None:
        """Where the session is kept; None while it is not open."""
        return self._session.folder if self._session is not None else None

    def subscribe(self, listener: Callable[[Snapshot], None]) -> None:
        self._listeners.append(listener)
        if self._session is not None:
            self._session.subscribe(listener)
        else:
            listener(EMPTY)

    async def start(self) -> None:
        if self._session is None:
            module, (arguments, more) = await asyncio.to_thread(self._load)
            if self._closed or self._session is not None:
                return
            self._session = module.Session(*arguments, **more)
            for listener in self._listeners:
                self._session.subscribe(listener)
        await self._session.start()

    def _load(self) -> tuple[Any, Arguments]:
        try:
            arguments = self._arguments()
        except VtuneError as error:
            raise Unopened(error.what, error.mend, error.code) from error
        return importlib.import_module("tui.session.session"), arguments

    @property
    def _open(self) -> Controls:
        if self._session is None:
            raise VtuneError("the session is still opening", "try again in a moment", Exit.USAGE)
        return self._session

    def set_lever(self, name: str, value: str) -> None:
        self._open.set_lever(name, value)

    def undo(self) -> None:
        self._open.undo()

    async def apply(self, running: Literal["drain", "cancel"] = "drain") -> None:
        await self._open.apply(running)

    async def replay(self) -> None:
        await self._open.replay()

    async def cancel_replay(self, how: Literal["drain", "cancel"] = "cancel") -> None:
        await self._open.cancel_replay(how)

    def set_baseline(self, number: int) -> None:
        self._open.set_baseline(number)

    async def export(self) -> Path:
        return await self._open.export()

    async def restart(self) -> None:
        await self._open.restart()

    async def end_engine(self) -> None:
        await self._open.end_engine()

    async def use_recording(self, ref: str) -> None:
        await self._open.use_recording(ref)

    async def record(self, port: int) -> None:
        await self._open.record(port)

    async def stop_recording(self) -> None:
        await self._open.stop_recording()

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close()
