"""The proxy's side of the scribe: starts it, hands it what passed, reads what it says."""

import asyncio
import contextlib
import fcntl
import json
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.errors import Exit, VtuneError
from tui.traffic.recorder.capture import Capture
from tui.traffic.recorder.spec import RecordSpec

# The child runs this very vtune, from wherever it was imported, without a path of its own in front of the library's.
_CHILD = """
import sys
sys.path[:0] = [root for root in sys.argv[1:] if root not in sys.path]
from tui.traffic.recorder.scribe import main
sys.exit(main())
"""
WRITER_GONE = "the process that writes had ended"
_REASONS = 20  # told apart by their example; others are counted together
# Whoever has an answer may ask the next question at once: that goes first.
_REST_S = 0.02
_PIPE = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux


class Channel:
    """Make it with `start`. `say` gets warnings as one line each, as they happen."""

    def __init__(
        self, path: Path, process: asyncio.subprocess.Process, stderr: Any, say: Callable[[str], None]
    ) -> None:
        self._path = path
        self.skipped: Counter[str] = Counter()
        self.ready: dict[str, Any] = {}
        self.kept = 0  # requests written so far
        self._process, self._stderr, self._say = process, stderr, say
        self._queue: deque[Capture] = deque()
        self._news = asyncio.Event()
        self._ending = False
        self._dead = False
        self._end: dict[str, Any] | None = None
        self._started: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.get_running_loop().create_task(self._read())
        self._writer: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, spec: RecordSpec, say: Callable[[str], None]) -> "Channel":
        """Raises VtuneError when the recording cannot be written."""
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - read when the child dies
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", _CHILD, str(Path(__file__).resolve().parents[3]),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            start_new_session=True,
        )  # fmt: skip
        channel = cls(Path(spec.out_path), process, stderr, say)
        assert process.stdin is not None
        process.stdin.write(json.dumps(spec.to_json()).encode() + b"\n")
        message = await channel._started
        if (refused := message.get("refused")) is not None:
            await process.wait()
            raise VtuneError(refused["what"], refused["mend"], Exit(refused["code"]))
        channel.ready = message["ready"]
        transport = process.stdin.transport
        transport.set_write_buffer_limits(high=0)  # what waits is to wait here, where it is counted
        with contextlib.suppress(OSError):
            fcntl.fcntl(transport.get_extra_info("pipe"), _SET_PIPE_SIZE, _PIPE)
        channel._writer = asyncio.get_running_loop().create_task(channel._write())
        return channel

    @property
    def pid(self) -> int:
        return self._process.pid

    def give(self, capture: Capture) -> None:
        """Take over a capture whose exchange has ended."""
        if capture.skip is None and self._dead:
            capture.skip = WRITER_GONE
        if capture.skip is not None:
            reason = f"{capture.skip}: {capture.example}" if capture.example else capture.skip
            self.skipped[reason if reason in self.skipped or len(self.skipped) < _REASONS else capture.skip] += 1
            capture.release()
            return
        self._queue.append(capture)
        self._news.set()

    async def finish(self) -> dict[str, Any]:
        """Write the rest, count tokens, end: {"counts", "skipped", "notes", "fault"}."""
        self._ending = True
        self._news.set()
        if self._writer is not None:
            await asyncio.wait([self._writer])
        await asyncio.wait([self._reader])
        await self._process.wait()
        return self._end or self._what_is_left()

    def hurry(self) -> None:
        """Count no more tokens."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    async def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while self._queue or not self._ending:
                if not self._queue:
                    self._news.clear()
                    await self._news.wait()
                    if not self._ending:
                        await asyncio.sleep(_REST_S)
                    continue
                capture = self._queue[0]
                stdin.write(capture.frame())
                self._queue.popleft()
                capture.release()
                await stdin.drain()
        except ConnectionError:
            self._died()
        finally:
            stdin.close()

    async def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while line := await stdout.readline():
            message = json.loads(line)
            if "end" in message:
                self._end = message["end"]
            elif "kept" in message:
                self.kept = message["kept"]
            elif "fault" in message:
                self._say(f"recording stops here: {message['fault']}; traffic goes on")
            elif "say" in message:
                self._say(message["say"])
            elif not self._started.done():
                self._started.set_result(message)
        if not self._started.done():
            self._started.set_exception(
                VtuneError(self._last_words(), "run it again with --debug and report what it prints", Exit.BUG)
            )
        elif self._end is None and "ready" in self._started.result():
            self._died()

    def _died(self) -> None:
        if self._dead:
            return
        self._dead = True
        self._say(f"recording stops here: {self._last_words()}; traffic goes on")
        while self._queue:
            self.give(self._queue.popleft())

    def _what_is_left(self) -> dict[str, Any]:
        """For a scribe that died: what it had written is in the file."""
        with contextlib.suppress(OSError), self._path.open("rb") as file:
            whole = sum(line.endswith(b"\n") for line in file) - 1
            kept = max(0, whole - self.ready["continued"])
            return {"counts": {"kept": kept}, "skipped": {}, "notes": [], "fault": self._last_words()}
        return {"counts": {}, "skipped": {}, "notes": [], "fault": self._last_words()}

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return f"the process that writes ended ({lines[-1] if lines else 'without a word'})"
