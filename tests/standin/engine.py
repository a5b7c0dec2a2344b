"""The stand-in as a managed process: starts like vLLM, serves, stops on a signal."""

import asyncio
import gzip
import signal
import subprocess
import sys
from collections.abc import Sequence

from standin.server import Server
from standin.settings import CAPTURED, Settings
from standin.startup import log_core_death, log_refusal, log_start, log_stop, say

# What a sleeping member of the tree is called in /proc/PID/cmdline.
_MEMBER = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.pause()"


def run(argv: Sequence[str]) -> int:
    if any(word.startswith("--help") for word in argv):
        print(gzip.decompress((CAPTURED / "help-all.txt.gz").read_bytes()).decode(), end="")
        return 0
    settings = Settings.read(argv)
    if settings.refuse:
        return log_refusal(settings)
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, (lambda: None) if settings.stuck == "term" else stop.set)
    members = [_member(name) for name in ("VLLM::EngineCore", "VLLM::Worker")] if settings.tree else []
    server = Server(settings, say)
    starting = loop.create_task(_start(settings, server))
    waiting = loop.create_task(stop.wait())
    dying = loop.create_task(_kill_of_any(members))
    await asyncio.wait({starting, waiting, dying}, return_when=asyncio.FIRST_COMPLETED)
    code = starting.result() if starting.done() else 0
    if code == 0:
        await asyncio.wait({waiting, dying}, return_when=asyncio.FIRST_COMPLETED)
        (log_core_death if dying.done() else log_stop)(settings)
    starting.cancel()
    dying.cancel()
    await server.stop()
    for member in members:
        member.kill()
        member.wait()
    return code


async def _start(settings: Settings, server: Server) -> int:
    await log_start(settings)
    if settings.stuck == "start":
        await asyncio.Event().wait()
    try:
        await server.start(settings.host, settings.port)
    except OSError as error:
        say(f"OSError: [Errno {error.errno}] {error.strerror}")
        return 1
    return 0


async def _kill_of_any(members: list["subprocess.Popen[bytes]"]) -> None:
    """vLLM's server ends when its core was killed, and the core when a worker was."""
    while all(member.poll() != -signal.SIGKILL for member in members):
        await asyncio.sleep(0.05)


def _member(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _MEMBER, name], stdin=subprocess.DEVNULL)
