"""The replay process; `Replay.start` runs it.

The first line of stdin is the spec as JSON, later lines are the commands in `_Control`; the end of stdin
means that the parent is gone. stdout carries JSON lines: ``started`` or ``refused``, ticks, and ``end``.
"""

import asyncio
import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tui.errors import Exit, VtuneError
from tui.traffic.http.clock import CLOCK
from tui.traffic.punctual import be_punctual
from tui.traffic.recording import load
from tui.traffic.replay.pipe import TickPipe
from tui.traffic.replay.progress import Progress
from tui.traffic.replay.run import LEAD_NS, Run
from tui.traffic.replay.runfile import RunFile
from tui.traffic.replay.spec import ReplaySpec
from tui.traffic.schedule import Pace, parse_pace

_PR_SET_PDEATHSIG = 1
_ORDERLY_S = 3


def main() -> int:
    _outlive_nobody()
    be_punctual()
    line = _first_line(sys.stdin.fileno())
    return asyncio.run(_replay(ReplaySpec(**json.loads(line)))) if line else Exit.INTERRUPTED


def _first_line(fd: int) -> bytes:
    """Read no further than that line: what follows belongs to _Control."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(fd, 1)):
        line += byte
    return line


def _outlive_nobody() -> None:
    """ctrl+c belongs to the parent. Its death closes our stdin; the signal is the second net.

    The signal also comes when only the thread that started us ends, so its handler looks at the parent.
    """
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # The end of the control pipe says the same and lets the run file be ended; only where that fails, the alarm kills.
    signal.signal(signal.SIGUSR1, lambda *_: os.getppid() == parent or signal.alarm(_ORDERLY_S))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGUSR1), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(Exit.INTERRUPTED)


async def _replay(spec: ReplaySpec) -> int:
    progress = Progress(0)
    pipe = TickPipe(sys.stdout.fileno(), progress)
    try:
        recording = load(spec.recording_path, spec.limit, filed=True, generating=True)
        pace = parse_pace(spec.pace, spec.speed, spec.seed)
        file = RunFile(Path(spec.out_path))
        run = Run(spec, recording, pace, file, progress)
    except VtuneError as error:
        await pipe.say({"refused": {"what": error.what, "mend": error.mend, "code": int(error.code)}})
        return error.code
    progress.total = len(run.requests)
    _raise_file_limit()
    control = _Control(run)
    try:
        await _measure(run, pipe)
    finally:
        control.close()
        file.close()
    return Exit.DONE


async def _measure(run: Run, pipe: TickPipe) -> None:
    gc.collect()
    gc.freeze()
    gc.disable()
    origin = time.monotonic_ns() + _lead_ns(run)
    run.file.header(_header(run, origin))
    await pipe.say({"started": {"total": run.progress.total, "origin_ns": origin}})
    cpu, wall = time.process_time(), time.monotonic()
    pipe.start()
    try:
        await run.go(origin)
    finally:
        gc.enable()
        pipe.stop()
        share = (time.process_time() - cpu) / max(time.monotonic() - wall, 1e-9)
        end = _end(run, pipe, share)
        run.file.end(end)
    await pipe.drained()
    pipe.tick()
    await pipe.say({"end": end})


def _lead_ns(run: Run) -> int:
    """Time to open the first connections before the clock starts: little to an address of this machine."""
    target = run.sender.pool.target
    if target.tls or not target.host.startswith("127."):
        return LEAD_NS + 50_000_000
    return min(LEAD_NS, 30_000_000 + 160_000 * (run.pace.concurrency or 1))


def _header(run: Run, origin_ns: int) -> dict[str, Any]:
    spec, recording = run.spec, run.recording
    return {
        "started_at": time.time() + (origin_ns - time.monotonic_ns()) / 1e9,
        "url": run.sender.pool.target.url,  # without the query, which may hold a key
        "model": spec.model,
        "total": len(run.requests),
        "recording": {"name": recording.name, "sha256": recording.sha256, "synthetic": recording.synthetic},
        "pace": _pace(run.pace),
        "limit": spec.limit,
        "loop": spec.loop,
        "retry": spec.retry,
        "cache_salt": spec.cache_salt,
        "fix_lengths": spec.fix_lengths,
        "live_turns": spec.live_turns,
        "keep_text": spec.keep_text,
        "timeout_s": spec.timeout_s,
        "recorded_models": sorted({r.model for r in recording.requests}),
        "made_streaming": sum(not r.streamed for r in recording.requests),
        "request_ids": f"{run.request_ids}-N, N = place in the recording from 0",
    }


def _pace(pace: Pace) -> dict[str, Any]:
    return {name: value for name in Pace.__slots__ if (value := getattr(pace, name)) is not None}


def _end(run: Run, pipe: TickPipe, cpu_share: float) -> dict[str, Any]:
    progress = run.progress
    reads = progress.kernel_reads + progress.user_reads
    return {
        "kind": run.kind,
        "total": progress.total,
        "ok": progress.ok,
        "failed": progress.failed,
        "cancelled": progress.cancelled,
        "duration_s": max(0.0, (time.monotonic_ns() - progress.origin_ns) / 1e9),
        "fidelity": {
            # The first reads of a machine may come unstamped, for the kernel switches stamping on a little later.
            "clock": "kernel" if reads and progress.kernel_reads >= 0.99 * reads else "user",
            "kernel_reads": progress.kernel_reads,
            "user_reads": progress.user_reads,
            "clock_steps": CLOCK.steps,
            "coalesced_events": progress.coalesced,
            "late_reads": progress.late_reads,
            "scan_mismatches": progress.scan_misses,
            "content_events": progress.content_chunks,
            "max_send_lag_s": progress.max_lag_s,
            "retries": run.sender.retries,
            "busy_retries": run.sender.waits,
            "paused_s": run.gate.paused_ns / 1e9 if run.gate else 0.0,
            "replayer_cpu_share": cpu_share,
            "ticks_dropped": pipe.dropped,
        },
    }


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _Control:
    """Commands on stdin, and its end."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._commands = {b"cancel": run.cancel, b"drain": run.drain, b"pause": run.pause, b"resume": run.resume}
        self._loop = asyncio.get_running_loop()
        self._fd = sys.stdin.fileno()
        self._rest = b""
        os.set_blocking(self._fd, False)
        self._loop.add_reader(self._fd, self._readable)
        self._loop.add_signal_handler(signal.SIGTERM, run.cancel)

    def close(self) -> None:
        self._loop.remove_reader(self._fd)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except BlockingIOError:
            return
        if not data:
            self.close()
            self._run.cancel("orphaned")
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if (command := self._commands.get(line)) is not None:
                command()
