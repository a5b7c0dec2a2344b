"""The captured log of a start and of a stop, with this process's own numbers in it."""

import asyncio
import os
import re
import sys
import time
from pathlib import Path

from standin.settings import CAPTURED, Settings, captured

_STAMP = re.compile(r"\b\d\d-\d\d \d\d:\d\d:\d\d\b")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def log_start(settings: Settings) -> None:
    """Print the captured lines in order, spread over `start_s`; the ready lines come last."""
    lines = [_own(line, settings) for line in captured("start.log").splitlines()]
    for line in lines:
        say(line)
        await asyncio.sleep(settings.start_s / len(lines))


def log_refusal(settings: Settings) -> int:
    """Print the log of a start that failed; returns the exit code."""
    name = settings.refuse
    path = CAPTURED / "failures" / f"{name}.log"
    for line in (path if path.is_file() else Path(name)).read_text(encoding="utf-8").splitlines():
        say(_own(line, settings))
    return settings.exit


def log_stop(settings: Settings) -> None:
    for line in captured("stop.log").splitlines():
        say(_own(line, settings))


def log_core_death(settings: Settings) -> None:
    for line in captured("core-killed.log").splitlines():
        say(_own(line, settings))


def _own(line: str, settings: Settings) -> str:
    line = _STAMP.sub(time.strftime("%m-%d %H:%M:%S"), line)
    line = line.replace("8401", str(settings.port)).replace("/models/smollm2-135m", settings.model)
    tokens = settings.kv_blocks * settings.block_size
    line = line.replace("46,592 tokens", f"{tokens:,} tokens").replace("smollm2-135m", settings.served)
    line = line.replace("enable_prefix_caching=True", f"enable_prefix_caching={settings.prefix_caching}")
    return line.replace("pid=2618", f"pid={os.getpid()}").replace("[2618]", f"[{os.getpid()}]")
