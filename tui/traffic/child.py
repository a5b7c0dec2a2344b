"""A process of this very vtune, for what must not share the parent's event loop: lines in, JSON lines out."""

import asyncio
import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

# It is the vtune that runs here, from wherever it was imported, without a path of its own in front of the library's.
_PROGRAM = """
import sys
sys.path[:0] = [root for root in sys.argv[1:] if root not in sys.path]
from {module} import main
sys.exit(main())
"""
_END_S = 5.0


class Child:
    """Make it with `start`; its stdout is the maker's to read, to its end."""

    def __init__(self, process: asyncio.subprocess.Process, stderr: Any) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.stdout = process, process.stdout
        self._stdin, self._stderr = process.stdin, stderr

    @classmethod
    async def start(cls, module: str, spec: dict[str, Any], limit: int = 1 << 16) -> "Child":
        """Run `main` of `module`, with `spec` as its first line; `limit` bytes are the longest line of its stdout."""
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - read when the child dies
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", _PROGRAM.format(module=module), str(Path(__file__).resolve().parents[2]),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            start_new_session=True, limit=limit,
        )  # fmt: skip
        child = cls(process, stderr)
        await child.tell(json.dumps(spec))
        return child

    async def tell(self, line: str) -> None:
        """Write a line to its stdin; nothing happens where it has ended."""
        if self._stdin.is_closing():
            return
        with contextlib.suppress(ConnectionError):
            self._stdin.write(line.encode() + b"\n")
            await self._stdin.drain()

    async def end(self) -> None:
        """Close its stdin, which tells it that the parent is gone; kill it where it has not ended after 5 s."""
        self._stdin.close()
        try:
            async with asyncio.timeout(_END_S):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()

    def last_words(self) -> str:
        """The last line that it wrote to stderr, fit to be printed; empty where it wrote none."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return "".join(c if c.isprintable() else "?" for c in lines[-1])[:300] if lines else ""
