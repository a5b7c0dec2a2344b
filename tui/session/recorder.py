"""The recorder in front of the session's engine: one address that records whatever the clients send there."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from tui import paths
from tui.engine import health
from tui.errors import VtuneError
from tui.session.frontage import Frontage
from tui.session.host import Emit
from tui.traffic.recorder.process import RecorderProcess
from tui.traffic.recorder.spec import RecordSpec

COUNT_S = 10.0
"""The longest that prompts are counted at the end; what is left has no token numbers."""


class Notice(Protocol):
    def __call__(self, level: Any, what: str, mend: str | None = None) -> None: ...


class EngineRecorder:
    """Off until `start`. Its process pumps, so that neither drawing nor measuring shares a loop with it.

    `use` makes a recording the one that is replayed next.
    """

    def __init__(self, emit: Emit, notice: Notice, front: Frontage, use: Callable[[Path], Awaitable[None]]) -> None:
        self._emit, self._notice, self._front, self._use = emit, notice, front, use
        self._process: RecorderProcess | None = None
        self._path = Path()
        self._kept = 0
        self._watching: asyncio.Task[None] | None = None
        self._opening = False

    @property
    def on(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def start(self, port: int, attached: str | None, front_port: int | None) -> None:
        """Listen at loopback `port`, 0 for a free one; the engine behind may be restarted meanwhile.

        Raises VtuneError when it runs already, or the port is taken.
        """
        if self.on or self._opening:
            raise VtuneError("the recorder runs already", "stop it first")
        self._opening = True
        try:
            if attached is None:
                await self._front.open(front_port or health.free_port())
            upstream = attached or self._front.url
            assert upstream is not None
            folder = paths.private_dir(paths.data() / "recordings")
            self._path = _free(folder)
            self._kept = 0
            spec = RecordSpec(upstream, str(self._path), "127.0.0.1", port, count_s=COUNT_S)
            self._process = await RecorderProcess.start(spec, self._hear)
        finally:
            self._opening = False
        self._emit("recorder", state="on", url=self._process.url, path=str(self._path), upstream=upstream,
                   kept=0, passed=0, in_flight=0)  # fmt: skip
        self._watching = asyncio.create_task(self._watch(self._process))

    async def stop(self) -> None:
        """End it and make what was recorded the recording to replay. Raises VtuneError when it does not run."""
        if self._process is None or self._watching is None:
            raise VtuneError("the recorder is not running", "start it first")
        self._emit("recorder", state="stopping")
        process, watching = self._process, self._watching
        await process.stop()
        await asyncio.shield(watching)

    async def close(self) -> None:
        if self.on:
            await self.stop()

    def _hear(self, message: dict[str, Any]) -> None:
        if (count := message.get("count")) is not None:
            self._kept = count["kept"]
            self._emit("recorder", **count)
        elif (line := message.get("say")) is not None:
            self._notice("warning", line)

    async def _watch(self, process: RecorderProcess) -> None:
        """Tell how it ended, asked for or not."""
        end = await process.ended()
        self._process = None
        kept = self._kept if end["kept"] is None else end["kept"]
        self._emit("recorder", state="off", kept=kept, in_flight=0, skipped=end["skipped"], fault=end["fault"])
        if end["fault"]:
            self._notice("error", f"the recorder ended: {end['fault']}", f"{kept} calls are kept in {self._path}")
        if kept:
            try:
                await self._use(self._path)
            except VtuneError as error:
                self._notice("error", error.what, error.mend)
                return
            self._notice("info", f"recorded {kept} calls: {self._path.name}", "the next replay sends them")
        elif not end["fault"]:
            self._notice("info", "nothing was recorded", "send chat or completion calls to the recorder's address")


def _free(folder: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"recorded-{stamp}{f'-{number}' if number > 1 else ''}.jsonl" for number in range(1, 1_000))
    return next(path for name in names if not (path := folder / name).exists())
