"""The recorder as a process, for a parent that has better things to do than to pump bytes; `RecorderProcess` runs it.

The first line of stdin is the spec as JSON; a line ``stop`` ends it in order, and so does the end of stdin, which
means that the parent is gone. stdout carries JSON lines: ``ready`` or ``refused``, ``count`` where it changed,
``say`` for a person, and ``end`` with a vtune.record/1.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import Any

from tui.errors import Exit, VtuneError
from tui.traffic.punctual import be_punctual
from tui.traffic.recorder.recorder import Recorder
from tui.traffic.recorder.spec import RecordSpec

COUNT_EVERY_S = 0.25
GRACE_S = 2.0


def main() -> int:
    be_punctual()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl+c belongs to the parent
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    line = _first_line(sys.stdin.fileno())
    return asyncio.run(_record(RecordSpec(**json.loads(line)))) if line else Exit.INTERRUPTED


def _first_line(fd: int) -> bytes:
    """Read no further than that line: what follows belongs to `_told`."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(fd, 1)):
        line += byte
    return line


async def _record(spec: RecordSpec) -> int:
    told = asyncio.create_task(_told())
    try:
        recorder = await Recorder.start(spec, lambda line: _say({"say": line}))
    except VtuneError as error:
        _say({"refused": {"what": error.what, "mend": error.mend, "code": int(error.code)}})
        return int(error.code)
    _say({"ready": {"url": recorder.url}})
    counting = asyncio.create_task(_count(recorder))
    asked = await told
    stopping = asyncio.create_task(recorder.stop(GRACE_S if asked else 0.0))
    if not asked:
        recorder.hurry()
    recorded = await stopping
    counting.cancel()
    _say({"end": recorded.to_json()})
    return 0


async def _told() -> bool:
    """Whether the parent asked for the end; False when it is gone."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    return (await reader.readline()).strip() == b"stop"


async def _count(recorder: Recorder) -> None:
    before: dict[str, int] = {}
    while True:
        count = {"kept": recorder.kept, "passed": recorder.passed, "in_flight": recorder.in_flight}
        if count != before:
            _say({"count": count})
            before = count
        await asyncio.sleep(COUNT_EVERY_S)


def _say(message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(message).encode() + b"\n")
