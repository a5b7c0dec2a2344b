"""The parent's side of a recorder that runs in a process of its own: starts it, hears its counts, ends it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tui.errors import Exit, VtuneError
from tui.traffic.child import Child
from tui.traffic.recorder.spec import RecordSpec

_LONGEST_LINE = 1 << 20

Hear = Callable[[dict[str, Any]], None]


class RecorderProcess:
    """Make it with `start`. `hear` gets each message, ``count`` or ``say``, on the event loop."""

    def __init__(self, child: Child, hear: Hear) -> None:
        self._child, self._hear = child, hear
        self.url = ""  # where clients send their requests
        self._ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._end: dict[str, Any] | None = None
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(cls, spec: RecordSpec, hear: Hear) -> "RecorderProcess":
        """Listen. Raises VtuneError when the port is taken or the recording can't be written."""
        made = cls(await Child.start("tui.traffic.recorder.child", spec.to_json(), _LONGEST_LINE), hear)
        try:
            message = await asyncio.shield(made._ready)
        except BaseException:
            await made._end_now()
            raise
        if (refused := message.get("refused")) is not None:
            await made._end_now()
            raise VtuneError(refused["what"], refused["mend"], Exit(refused["code"]))
        made.url = message["ready"]["url"]
        return made

    @property
    def pid(self) -> int:
        return self._child.process.pid

    async def ended(self) -> dict[str, Any]:
        """Wait until it has ended; its vtune.record/1, or one with a `fault` when its process died."""
        await asyncio.shield(self._reader)
        await self._child.process.wait()
        return self._end or {"kept": None, "passed": None, "skipped": [], "notes": [], "fault": self._last_words()}

    async def stop(self) -> dict[str, Any]:
        """Accept nobody any more, let what is in flight end for a moment, write the rest."""
        await self._child.tell("stop")
        return await self.ended()

    async def _end_now(self) -> None:
        await self._child.end()
        await asyncio.wait([self._reader])

    async def _read(self) -> None:
        while line := await self._child.stdout.readline():
            message = json.loads(line)
            if "end" in message:
                self._end = message["end"]
            elif not self._ready.done():
                self._take_first(message)
            else:
                self._hear(message)
        if not self._ready.done():
            what = f"the recorder did not start: {self._last_words()}"
            self._ready.set_exception(VtuneError(what, "run it again with --debug", Exit.BUG))
            self._ready.exception()  # retrieved: nobody may be waiting

    def _take_first(self, message: dict[str, Any]) -> None:
        """What is said before it listens is heard as well."""
        if "ready" in message or "refused" in message:
            self._ready.set_result(message)
        else:
            self._hear(message)

    def _last_words(self) -> str:
        return self._child.last_words() or f"its process ended ({self._child.process.returncode})"
