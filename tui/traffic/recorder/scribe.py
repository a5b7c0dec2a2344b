"""The process that writes the recording, so that the proxy only pumps bytes.

The first line of stdin is the spec as JSON, then come frames; the end of stdin ends the recording. stdout carries JSON
lines: ``ready`` or ``refused``, ``kept`` after each request, ``fault`` at once when the disk takes no more, ``say`` for
a person, and ``end`` with the counts. A signal TERM ends the counting of tokens early.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from tui.errors import VtuneError
from tui.traffic.http.target import parse_target
from tui.traffic.recorder.finishing import finish
from tui.traffic.recorder.frame import Noted, unpack
from tui.traffic.recorder.noting import Noting, Unfit
from tui.traffic.recorder.recordfile import RecordFile
from tui.traffic.recorder.spec import RecordSpec


def main() -> int:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # the proxy tells when it is over
    # Past a limit of the file's size the write is to fail like any other.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(5)
    spec = RecordSpec(**json.loads(sys.stdin.buffer.readline()))
    return asyncio.run(_write(spec, sys.stdin.buffer))


async def _write(spec: RecordSpec, frames: IO[bytes]) -> int:
    try:
        file = RecordFile(Path(spec.out_path), _header(spec), append=spec.append, force=spec.force)
    except VtuneError as error:
        _say({"refused": {"what": error.what, "mend": error.mend, "code": int(error.code)}})
        return int(error.code)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    before = len(file.places)
    _say({"ready": {"healed": file.healed, "continued": before}})
    scribe = _Scribe(file, Noting(spec.mask_secrets, file.offset_s))
    for noted in unpack(frames):
        await scribe.take(noted)
        _say({"kept": len(file.places) - before})
    try:
        target = parse_target(spec.upstream)
        counted, notes = await finish(file, before, target, spec.count_s, stop, lambda line: _say({"say": line}))
    finally:
        file.close()
    counts = scribe.noting.counts
    counts.update({"counted": counted, "kept": len(file.places) - before})
    _say({"end": {"counts": counts, "skipped": scribe.skipped, "notes": notes, "fault": file.fault}})
    return 0


class _Scribe:
    def __init__(self, file: RecordFile, noting: Noting) -> None:
        self.file, self.noting = file, noting
        self.skipped: Counter[str] = Counter()

    async def take(self, noted: Noted) -> None:
        if self.file.fault is not None:
            self.skipped[f"the disk took no more: {self.file.fault}"] += 1
            return
        try:
            request = await self.noting.request(self.file.next_id(), noted)
        except Unfit as why:
            self.skipped[str(why)] += 1
            return
        if not self.file.add(request):
            self.skipped[f"the disk took no more: {self.file.fault}"] += 1
            _say({"fault": self.file.fault})


def _header(spec: RecordSpec) -> dict[str, Any]:
    return {
        "name": Path(spec.out_path).name.split(".")[0],
        "captured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": f"vtune record, in front of {parse_target(spec.upstream).url}",
        "notes": "",
        "synthetic": False,
    }


def _say(message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(message).encode() + b"\n")
