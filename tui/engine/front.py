"""The client of the front: one stable address for the user's own application, whichever engine serves.

    front = await Front.open(8000, on_end=tell)
    front.serve("127.0.0.1", 43117)    # new connections go there
    front.wait()                       # an engine is starting: they are held, up to HOLD_S
    front.nobody()                     # they are answered 503
    await front.close()

It is a process of its own, so that relaying costs neither measuring nor drawing a turn; it ends with its stdin,
that is with vtune, however vtune ends.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.engine import health
from tui.errors import VtuneError

_SCRIPT = Path(__file__).parent / "inside" / "front.py"
HOST = "127.0.0.1"
HOLD_S = 120.0  # a CPU start takes 30 s; a client that waits longer than this has given up
_CLOSE_S = 3.0


class Front:
    """A relay at ``http://127.0.0.1:PORT``."""

    def __init__(self, port: int, process: asyncio.subprocess.Process, on_end: Callable[[str], None]) -> None:
        self.port = port
        self.url = f"http://{HOST}:{port}"
        self._process = process
        self._closing = False
        self._ending = asyncio.create_task(self._tell_end(on_end))

    @classmethod
    async def open(cls, port: int, on_end: Callable[[str], None], hold_s: float = HOLD_S) -> "Front":
        """Listen; `on_end` hears how it ended, if it does before `close`. Raises VtuneError when the port is taken."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_SCRIPT), HOST, str(port), str(hold_s),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = await process.stdout.readline()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        answer = json.loads(line) if line else {"refused": "its process ended at once"}
        if "refused" in answer:
            await process.wait()
            raise VtuneError(await _why(port, answer["refused"]), "end that program, or choose another front-port")
        return cls(port, process, on_end)

    @property
    def pid(self) -> int:
        return self._process.pid

    def serve(self, host: str, port: int) -> None:
        """New connections go to this engine; kept-alive ones to another are closed."""
        self._tell({"serve": [host, port]})

    def wait(self) -> None:
        """An engine is starting: new connections are held."""
        self._tell({"wait": True})

    def nobody(self) -> None:
        """No engine serves: new connections are answered 503."""
        self._tell({"serve": None})

    async def close(self) -> None:
        """End it with every connection it holds."""
        self._closing = True
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _CLOSE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._ending

    def _tell(self, message: dict[str, Any]) -> None:
        if self._process.returncode is None and not self._closing:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _tell_end(self, on_end: Callable[[str], None]) -> None:
        code = await self._process.wait()
        if not self._closing:
            on_end(f"signal {-code}" if code < 0 else f"exit code {code}")


async def _why(port: int, words: str) -> str:
    holders = await asyncio.to_thread(health.port_holders, port, []) or []
    name = f"engine.front-port {port}"
    return f"{name} is held by {holders[0].words}" if holders else f"{name} can't be listened at: {words}"
