"""The child's voice to its parent: JSON lines on a non-blocking pipe, where ticks may be dropped."""

import asyncio
import json
import os
from time import monotonic_ns
from typing import Any

from tui.traffic.replay.progress import Progress

EVERY_S = 0.1
_JSON = json.JSONEncoder(separators=(",", ":"))


class TickPipe:
    """Writes to `fd`. A tick is dropped while an earlier line waits for the reader; what ended comes in the next."""

    def __init__(self, fd: int, progress: Progress) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._progress = progress
        self._rest = b""
        self._timer: asyncio.TimerHandle | None = None
        self.dropped = 0
        self.broken = False

    def start(self) -> None:
        """Tick about ten times a second from now on."""
        self.tick()
        self._timer = asyncio.get_running_loop().call_later(EVERY_S, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def tick(self) -> bool:
        """Send a tick now; False when it was dropped."""
        self._push()
        if self._rest:
            self.dropped += 1
            return False
        tick = self._progress.tick(monotonic_ns(), self.dropped)
        ended = ",".join(self._progress.unread)
        self._progress.unread.clear()
        state = _JSON.encode({"tick": tick.to_json()})
        self._write(state.replace('"finished":[]', f'"finished":[{ended}]', 1))
        return True

    async def say(self, message: dict[str, Any]) -> None:
        """Send a line that is never dropped: waits for the reader, or for its end."""
        await self.drained()
        self._send(message)
        await self.drained()

    async def drained(self) -> None:
        """Wait until all that was written has been taken, or nobody reads any more."""
        loop = asyncio.get_running_loop()
        while self._rest and not self.broken:
            ready: asyncio.Future[None] = loop.create_future()
            loop.add_writer(self._fd, _set, ready)
            try:
                await ready
            finally:
                loop.remove_writer(self._fd)
            self._push()

    def _send(self, message: dict[str, Any]) -> None:
        self._write(_JSON.encode(message))

    def _write(self, line: str) -> None:
        self._rest += line.encode() + b"\n"
        self._push()

    def _push(self) -> None:
        while self._rest and not self.broken:
            try:
                self._rest = self._rest[os.write(self._fd, self._rest[:65536]) :]
            except BlockingIOError:
                return
            except OSError:
                self.broken, self._rest = True, b""


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
