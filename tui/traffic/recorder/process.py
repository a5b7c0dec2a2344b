"""The parent's side of a recorder that runs in a process of its own: starts it, hears its counts, ends it."""

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.errors import Exit, VtuneError
from tui.traffic.recorder.spec import RecordSpec

# The child runs this very vtune, from wherever it was imported, without a path of its own in front of the library's.
_CHILD = """
import sys
sys.path[:0] = [root for root in sys.argv[1:] if root not in sys.path]
from tui.traffic.recorder.child import main
sys.exit(main())
"""
_LONGEST_LINE = 1 << 20

Hear = Callable[[dict[str, Any]], None]


class RecorderProcess:
    """Make it with `start`. `hear` gets each message, ``count`` or ``say``, on the event loop."""

    def __init__(self, process: asyncio.subprocess.Process, stderr: Any, hear: Hear) -> None:
        self._process, self._stderr, self._hear = process, stderr, hear
        self.url = ""  # where clients send their requests
        self._ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._end: dict[str, Any] | None = None
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(cls, spec: RecordSpec, hear: Hear) -> "RecorderProcess":
        """Listen. Raises VtuneError when the port is taken or the recording can't be written."""
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - read when the child dies
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", _CHILD, str(Path(__file__).resolve().parents[3]),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            start_new_session=True, limit=_LONGEST_LINE,
        )  # fmt: skip
        made = cls(process, stderr, hear)
        await made._tell(json.dumps(spec.to_json()))
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
        return self._process.pid

    async def ended(self) -> dict[str, Any]:
        """Wait until it has ended; its vtune.record/1, or one with a `fault` when its process died."""
        await asyncio.shield(self._reader)
        await self._process.wait()
        return self._end or {"kept": None, "passed": None, "skipped": [], "notes": [], "fault": self._last_words()}

    async def stop(self) -> dict[str, Any]:
        """Accept nobody any more, let what is in flight end for a moment, write the rest."""
        await self._tell("stop")
        return await self.ended()

    async def _end_now(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await asyncio.wait([self._reader])

    async def _tell(self, line: str) -> None:
        with contextlib.suppress(ConnectionError):  # it has ended: `ended` says how
            assert self._process.stdin is not None
            self._process.stdin.write(line.encode() + b"\n")
            await self._process.stdin.drain()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
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
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else f"its process ended ({self._process.returncode})"
