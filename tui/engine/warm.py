"""The client of the warm starter: servers in seconds, by forking a process that has vLLM imported.

    starters = Starters(keeper)
    child = await starters.launch(launch, log)      # raises WarmRefused: start it plainly
"""

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tui.engine.argv import model
from tui.engine.keeper import Child, Keeper
from tui.engine.launch import Launch
from tui.errors import Exit, VtuneError

_SCRIPT = Path(__file__).parent / "inside" / "starter.py"
_TAG = "VTUNE_LAUNCH"  # the only variable that may differ between a starter and its servers
_IMPORT_S = 120.0
_FORK_S = 20.0


class WarmRefused(VtuneError):
    """No warm start: `what` says why. The launch can still be started plainly."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no warm start: {why}", "nothing to do, it is started plainly; engine.warm: off skips this")
        self.code = Exit.ENGINE


def environment(launch: Launch) -> dict[str, str]:
    """The whole environment of a launch, plain or warm."""
    # setproctitle, which vLLM uses, would write over what /proc/PID/environ shows, and with it our tag.
    return {**os.environ, **launch.env, "SPT_NOENV": "1", _TAG: launch.launch_id}


class Starter:
    """One process that has vLLM imported, in one interpreter and one environment."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._turn = asyncio.Lock()
        self.import_s: float | None = None
        self.forks = 0

    @classmethod
    async def open(cls, keeper: Keeper, launch: Launch, log: Path) -> "Starter":
        """Start it and wait until everything is imported. Raises WarmRefused."""
        folder = Path(tempfile.mkdtemp(prefix="vtune-"))  # 0700; short, for a socket's name holds 107 bytes
        path = folder / "starter"
        env = environment(launch)
        name = env[_TAG] = f"starter-{os.urandom(6).hex()}"
        argv = [launch.python, str(_SCRIPT), str(path), _module(launch), model(launch.argv)]
        try:
            starter = cls(await keeper.launch(name, argv, env, log))
            await starter._come_up(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # connected or failed: nobody else is to come
        return starter

    async def _come_up(self, path: Path) -> None:
        try:
            async with asyncio.timeout(_IMPORT_S):
                await self._connect(path)
                self.import_s = (await self._read())["ready"]
        except TimeoutError:
            await self.close()
            raise WarmRefused(f"the starter did not import vLLM within {_IMPORT_S:.0f} s") from None
        except BaseException:
            await self.close()
            raise

    @property
    def alive(self) -> bool:
        return not self._child.exited.done()

    @property
    def pid(self) -> int:
        return self._child.pid

    async def fork(self, launch: Launch, log: Path) -> tuple[int, int]:
        """Fork the server of `launch`: its pid and start time. Raises WarmRefused."""
        request = {"do": "launch", "argv": list(launch.argv), "env": environment(launch), "log": str(log)}
        async with self._turn:
            self._writer.write(json.dumps(request).encode() + b"\n")
            try:
                answer = await asyncio.wait_for(self._read(), _FORK_S)
            except TimeoutError:
                await self.close()
                raise WarmRefused(f"the starter gave no answer within {_FORK_S:.0f} s") from None
        if "refused" in answer:
            raise WarmRefused(answer["refused"])
        self.forks += 1
        return answer["forked"], answer["start"]

    async def close(self) -> None:
        """End the starter; the servers that it forked live on under the keeper."""
        await self._child.stop(1.0)

    async def _connect(self, path: Path) -> None:
        while self.alive:
            try:
                self._reader, self._writer = await asyncio.open_unix_connection(str(path))
                return
            except OSError:
                await asyncio.wait([self._child.exited], timeout=0.02)
        raise WarmRefused(f"the starter ended ({self._child.exited.result().words})")

    async def _read(self) -> dict[str, Any]:
        line = await self._reader.readline()
        if not line:
            ending = await asyncio.shield(self._child.exited)
            raise WarmRefused(f"the starter ended ({ending.words})")
        return json.loads(line)


class Starters:
    """One starter per interpreter and environment, made when first needed."""

    def __init__(self, keeper: Keeper, folder: Path) -> None:
        self._keeper = keeper
        self._folder = folder  # for the starters' own logs
        self._made: dict[tuple[Any, ...], asyncio.Task[Starter]] = {}
        self._unwanted: set[asyncio.Task[None]] = set()

    async def launch(self, launch: Launch, log: Path) -> Child:
        """Start `launch` from a warm starter, its output appended to `log`. Raises WarmRefused."""
        starter = await self.ready(launch)
        # Asked and answered is one piece: a caller that gives up must leave neither a server nor a stray answer.
        task = asyncio.create_task(self._fork(starter, launch, log))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._unwanted.add(ending := asyncio.create_task(self._undo(task)))
            ending.add_done_callback(self._unwanted.discard)
            raise

    async def _fork(self, starter: Starter, launch: Launch, log: Path) -> Child:
        pid, start = await starter.fork(launch, log)
        return await self._keeper.adopt(launch.launch_id, pid, start, log)

    async def _undo(self, task: asyncio.Task[Child]) -> None:
        with contextlib.suppress(VtuneError):
            await (await task).stop(1.0)

    async def ready(self, launch: Launch) -> Starter:
        """The starter for launches like this one, imported and alive.

        Raises WarmRefused, at once where one like it could not be made before.
        """
        key = (launch.python, *sorted((k, v) for k, v in environment(launch).items() if k != _TAG))
        task = self._made.get(key)
        if task is None or task.done() and (task.cancelled() or not task.exception() and not task.result().alive):
            log = self._folder / f"starter-{len(self._made) + 1}.log"
            task = self._made[key] = asyncio.create_task(Starter.open(self._keeper, launch, log))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End every starter; running servers live on."""
        tasks, self._made = list(self._made.values()), {}
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Starter):
                await result.close()


def _module(launch: Launch) -> str:
    """The server's module, of ``python -m MODULE ...``."""
    argv = launch.argv
    if len(argv) < 3 or argv[1] != "-m":
        raise WarmRefused("this command is not a vLLM server that can be forked")
    return argv[2]
