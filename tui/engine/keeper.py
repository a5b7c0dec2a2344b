"""The client of the keeper: start programs that can't outlive vtune.

    keeper = await Keeper.open()
    child = await keeper.launch(argv, env, log)
    ending = await child.exited
    await child.stop(grace_s=10)
    await keeper.close()
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui import paths
from tui.engine.inside import kin
from tui.errors import Exit, VtuneError

_SCRIPT = Path(__file__).parent / "inside" / "keeper.py"
_CLOSE_S = 30.0  # the keeper's own grace, its kills, and room for a slow machine


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended. Both None: unknown, for the keeper itself was lost."""

    code: int | None = None
    signal: int | None = None

    @property
    def words(self) -> str:
        if self.signal is not None:
            return f"killed by {signal.Signals(self.signal).name}"
        return "ended unseen" if self.code is None else f"exit code {self.code}"


class Child:
    """One launch under the keeper: its first process, and whatever that starts."""

    def __init__(self, keeper: "Keeper", name: str, pid: int) -> None:
        self._keeper = keeper
        self.name = name
        self.pid = pid
        self.start = 0  # clock ticks since boot, with the pid names this process; 0 where unknown
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[Ending] = loop.create_future()  # the first process
        self.gone: asyncio.Future[None] = loop.create_future()  # every member
        self.stuck: tuple[int, ...] = ()  # pids that even SIGKILL did not end so far

    async def stop(self, grace_s: float = 10.0) -> None:
        """CONT and TERM to every member, KILL after `grace_s`; returns when none is left."""
        if not self.gone.done():
            self._keeper.send({"do": "stop", "id": self.name, "grace_s": grace_s})
        await asyncio.shield(self.gone)

    def members(self) -> list[int]:
        """The living processes of this launch."""
        return [proc.pid for proc in members(self._keeper.pid, self._keeper.leaders, self.name)]


class Keeper:
    """One keeper process; holds any number of launches."""

    def __init__(self, process: subprocess.Popen[bytes], state_file: Path) -> None:
        self._process = process
        self._state_file = state_file
        self._children: dict[str, Child] = {}
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._closing = False
        self.pid = process.pid
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # it died unasked
        self.faults: list[str] = []

    @classmethod
    async def open(cls) -> "Keeper":
        """Start the keeper; it ends itself and all it holds when this process does, however that happens."""
        folder = paths.private_dir(paths.state() / "engines")
        ours, theirs = socket.socketpair()
        with theirs:
            state_file = folder / f"{os.getpid()}-{theirs.fileno()}-{os.urandom(3).hex()}.json"
            process = subprocess.Popen(
                [sys.executable, "-I", str(_SCRIPT), str(theirs.fileno()), str(os.getpid()), str(state_file)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        keeper = cls(process, state_file)
        keeper._reader, keeper._writer = await asyncio.open_connection(sock=ours)
        keeper._listening = asyncio.create_task(keeper._listen())
        return keeper

    async def launch(
        self, name: str, argv: list[str], env: dict[str, str], log: Path, cwd: Path | None = None
    ) -> Child:
        """Start `argv` with exactly `env`, in a session of its own, its output appended to `log` (0600).

        `name` is the launch id, unique in this keeper. Raises VtuneError if the program can't be run.
        """
        command = {"argv": argv, "env": env, "log": str(log), "cwd": str(cwd) if cwd else None}
        return await self._begin("launch", name, command)

    async def adopt(self, name: str, pid: int, start: int, log: Path) -> Child:
        """Treat `pid`, a descendant that a helper forked, as the first process of a launch of its own."""
        return await self._begin("adopt", name, {"pid": pid, "start": start, "log": str(log)})

    @property
    def leaders(self) -> dict[int, str]:
        """The first process of every launch that has not wholly ended, and its id."""
        return {child.pid: name for name, child in self._children.items()}

    async def _begin(self, do: str, name: str, command: dict[str, Any]) -> Child:
        if self._closing or self.lost.done():
            raise VtuneError("the keeper of the engines is gone", "start vtune again", Exit.ENGINE)
        answer = self._answers[name] = asyncio.get_running_loop().create_future()
        self.send({"do": do, "id": name, **command})
        try:
            result = await answer
        except asyncio.CancelledError:
            self.send({"do": "stop", "id": name, "grace_s": 1.0})  # nobody will hold the child
            raise
        if result["event"] == "refused":
            raise VtuneError(f"the engine can't be started: {result['error']}", "check engine.python", Exit.ENGINE)
        return result["child"]  # it may have ended, and be gone from _children, by now

    def send(self, command: dict[str, Any]) -> None:
        self._writer.write(json.dumps(command).encode() + b"\n")

    async def close(self) -> None:
        """End every launch and the keeper; returns when nothing is left."""
        if not self._closing and not self.lost.done():
            self._closing = True
            self._writer.write_eof()
        try:
            await asyncio.to_thread(self._process.wait, _CLOSE_S)
        except subprocess.TimeoutExpired:
            stuck = [proc.pid for proc in kin.descendants(self.pid, kin.table()) if proc.alive]
            raise VtuneError(f"processes {stuck} do not end", "see `vtune doctor`", Exit.ENGINE) from None
        await self._listening
        self._writer.close()

    async def _listen(self) -> None:
        try:
            while line := await self._reader.readline():
                self._note(json.loads(line))
        except (OSError, ValueError):
            pass
        if not self._closing:
            await asyncio.to_thread(self._process.wait)
            await self._clear_up()
            self._writer.close()
            self.lost.set_result(None)
        self._release()

    def _note(self, event: dict[str, Any]) -> None:
        kind, name = event["event"], event.get("id")
        child = self._children.get(name) if name else None
        if kind in ("started", "refused"):
            if kind == "started":
                child = self._children[name] = Child(self, name, event["pid"])
                child.start = event["start"]
            if (answer := self._answers.pop(name, None)) and not answer.done():
                answer.set_result({**event, "child": child})
        elif kind == "fault":
            self.faults.append(event["error"])
        elif child is None:
            return
        elif kind == "exit":
            child.exited.set_result(Ending(event["code"], event["signal"]))
        elif kind == "stuck":
            child.stuck = tuple(event["pids"])
        elif kind == "gone":
            self._children.pop(name)
            child.gone.set_result(None)

    async def _clear_up(self) -> None:
        """The keeper was killed: end what it held, found by session and environment."""
        for child in list(self._children.values()):
            await end(self.pid, self.leaders, child.name)
        self._state_file.unlink(missing_ok=True)

    def _release(self) -> None:
        """Nobody may wait for an event that can't come any more."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result({"event": "refused", "error": "the keeper died"})
        for child in self._children.values():
            if not child.exited.done():
                child.exited.set_result(Ending())
            if not child.gone.done():
                child.gone.set_result(None)
        self._children.clear()


def members(keeper: int, leaders: dict[int, str], name: str) -> list[kin.Proc]:
    """The living processes of launch `name`, by session, ancestry and environment; also after the keeper's death."""
    procs = kin.table()
    pool = kin.descendants(keeper, procs) if keeper in procs else list(procs.values())
    return [proc for proc in pool if proc.alive and kin.owner_of(proc, procs, leaders) == name]


async def end(keeper: int, leaders: dict[int, str], name: str, grace_s: float = 3.0) -> None:
    """End the members of a launch whose keeper is dead."""
    deadline = asyncio.get_running_loop().time() + grace_s
    told: set[tuple[int, int]] = set()
    while left := members(keeper, leaders, name):
        late = asyncio.get_running_loop().time() > deadline
        for proc in left:
            if late:
                kin.send(proc, signal.SIGKILL)
            elif (proc.pid, proc.start) not in told:
                told.add((proc.pid, proc.start))
                kin.send(proc, signal.SIGTERM)
                kin.send(proc, signal.SIGCONT)
        if late and asyncio.get_running_loop().time() > deadline + 10:
            return
        await asyncio.sleep(0.05)
