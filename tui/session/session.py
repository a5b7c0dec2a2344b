"""The session: the only joiner of engine, replay and scrapes.

What happens becomes an event, events are appended to the journal and folded into `state`, and
a frozen `Snapshot` is made of it on a fixed tick. The screen and the command line both drive this.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import httpx

from tui import paths
from tui.engine import levers
from tui.engine.lever import Surroundings
from tui.engine.profile_set import with_settings
from tui.engine.settings import Profile
from tui.errors import VtuneError
from tui.session import attach as attached
from tui.session import secrets, views
from tui.session.change import change_since
from tui.session.folder import header, new_folder
from tui.session.frontage import Frontage
from tui.session.host import Host, Policy
from tui.session.journal import Journal
from tui.session.launching import launch_of, switch
from tui.session.recorder import EngineRecorder
from tui.session.runner import Runner
from tui.session.snapshot import Snapshot
from tui.session.state import State
from tui.session.traffic import Traffic, traffic_of
from tui.session.watch import Watch
from tui.traffic import recording as recordings

TICK_S = 0.25
HEAD_START_AFTER_S = 0.4  # two toggles in a row start one engine


class Session:
    """See `tui.session.controls.Controls` for what the screen may ask."""

    def __init__(
        self, profile: Profile, traffic: Traffic | None = None, folder: Path | None = None, attach: str | None = None,
        patient: bool = False,
    ) -> None:  # fmt: skip
        """Opens the journal in `folder` (a fresh one by default).

        With `attach`, the URL of an engine that vtune does not own, the profile starts nothing; `patient`
        keeps trying a URL where nobody answers. Raises VtuneError for a bad recording, profile or folder.
        """
        self.profile = profile
        self._attach = None if attach is None else attached.normalised(attach)
        self._patient = patient
        asked = {} if attach else dict(levers.resolve(profile.levers, Surroundings()).values)
        self.traffic = traffic or traffic_of(profile)
        self.folder = folder or new_folder()
        paths.private_dir(self.folder)
        self._journal = Journal(self.folder, header(self.folder.name))
        self.state = State(header=self._journal.header)
        key = os.environ.get(attached.API_KEY) if attach else None
        self._client = httpx.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {key}"} if key else None)
        if key:
            self.traffic = replace(self.traffic, api_key_env=attached.API_KEY)
        policy = Policy(warm=profile.engine.warm, park=profile.engine.park)
        self.host = Host(self.emit, self.folder, self._client, policy)
        self.front = Frontage(self.notice)
        self.recorder = EngineRecorder(self.emit, self.notice, self.front, self.use_recording)
        self.watch = Watch(self.emit, self.state, self._client, self.host)
        self.runner = Runner(self.emit, self.state, self.folder, self._client, self.host, self.watch.scrape_now)
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._starting: asyncio.Task[None] | None = None
        self._replacing = False  # an engine is being ended to make room for one that will start
        self._running: asyncio.Task[dict[str, Any]] | None = None
        self._considering: asyncio.Task[None] | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._good: Profile | None = None  # the last that came up
        self.host.on_death = self._engine_died
        self._open(asked)

    def _open(self, asked: dict[str, str]) -> None:
        profile = self.profile
        self.emit("profile", name=profile.name, path=str(profile.path or ""), text=secrets.yaml(profile.source_text),
                  model=profile.engine.model, levers=asked, settings=secrets.settings(profile.settings),
                  attach=self._attach,
                  targets=[asdict(target) for target in profile.targets])  # fmt: skip
        self._tell_recording()

    def _tell_recording(self) -> None:
        found, traffic = self.traffic.recording, self.traffic
        self.emit("recording", name=found.name, sha256=found.sha256, requests=len(found.requests),
                  path=str(found.path), pace=traffic.pace, speed=traffic.speed)  # fmt: skip

    # -- journal and snapshots --------------------------------------------------

    def emit(self, kind: str, **values: Any) -> None:
        """Append an event to the journal and fold it."""
        fault = self._journal.fault
        self.state.apply(self._journal.append(kind, **values))
        if self._journal.fault and not fault:
            self.notice("error", f"the journal can't be written: {self._journal.fault}",
                        f"free space for {self.folder}; what happens from here on is not kept")  # fmt: skip
        self.front.follow(self.state, self._is_starting)
        self._changed.set()

    def notice(self, level: Literal["info", "warning", "error"], what: str, mend: str | None = None) -> None:
        self.emit("notice", level=level, what=what, mend=mend)

    def subscribe(self, listener: Callable[[Snapshot], None]) -> None:
        self._listeners.append(listener)
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._tick())
        listener(self.snapshot())

    def snapshot(self) -> Snapshot:
        return views.snapshot(self.state, self.folder, time.time(), self.watch.seen_at)

    def _show(self) -> None:
        """Hand a picture to whoever looks: with every tick, and at once what a person asked for."""
        if self._listeners:
            picture = self.snapshot()
            for listener in self._listeners:
                listener(picture)

    async def _tick(self) -> None:
        while True:
            # Ages and clocks move even when nothing happens, once a second is enough for them.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), None if self.state.closed else 1.0)
            self._changed.clear()
            self._show()
            await asyncio.sleep(TICK_S)

    # -- the engine --------------------------------------------------------------

    async def start(self) -> None:
        """Start the engine in the background; `ready()` waits for it."""
        if self._starting is None or self._starting.done():
            self._starting = self._spawn(self._start(self.profile))

    async def ready(self) -> None:
        """Wait until the engine can be measured.

        Raises VtuneError (exit 3) when its start failed; after a lever change the last working arm serves again then.
        """
        if self._starting is not None:
            await asyncio.shield(self._starting)

    @property
    def _is_starting(self) -> bool:
        return self._replacing or (self._starting is not None and not self._starting.done())

    async def serve(self, profile: Profile) -> None:
        """Serve with `profile` by a new engine; the one that serves is ended first, not parked.

        For arms of a comparison: nothing is pending and nothing is rolled back. Raises VtuneError (exit 3)
        when the start failed.
        """
        self._owned("serve another arm")
        self.watch.end()
        await self.host.stop()
        self.profile = profile
        self._starting = self._spawn(self._start(profile))
        await self.ready()

    async def _start(self, profile: Profile) -> None:
        if self._attach is not None:
            told = self.host.unreachable if self._patient else None
            await self.host.attach(await attached.wait(self._client, self._attach, told, profile.engine.attach[1:]))
        else:
            await self.front.open(profile.engine.front_port)
            await switch(self.host, profile, self._say())
            self._good = profile
        self.watch.begin()
        self.emit("engine", n=self.host.number, state="attached" if self._attach else "ready")

    def _say(self) -> Callable[[str], None]:
        """Tells a line from any thread."""
        loop = asyncio.get_running_loop()
        return lambda line: loop.call_soon_threadsafe(self.notice, "info", line) and None

    def set_lever(self, name: str, value: str) -> None:
        self._owned("change a lever")
        wanted = levers.put({**self.state.asked, **self.state.pending}, name, value)
        owner = levers.FACETS.get(name, name)
        self.emit("lever", name=owner, value=wanted[owner])
        self._show()
        self._consider_head_start()

    def _owned(self, action: str) -> None:
        if self._attach is not None:
            raise VtuneError(
                f"can't {action}: vtune does not own the engine at {self._attach}", "start vtune on a profile to tune"
            )

    def undo(self) -> None:
        self.emit("undo")
        self._show()
        self._consider_head_start()

    async def apply(self, running: Literal["drain", "cancel"] = "drain") -> None:
        """Serve with the pending levers; a running replay ends as told."""
        if not self.state.pending:
            raise VtuneError("no lever was changed", "toggle one first")
        await self._replace(self._pending_profile(), running, dict(self.state.pending))

    def _pending_profile(self) -> Profile:
        return with_settings(self.profile, [f"{name}={value}" for name, value in self.state.pending.items()])

    async def restart(self) -> None:
        if self._attach is None and self.state.engine is None:
            return await self.start()
        await self._replace(self.profile, "cancel", {})

    async def _replace(self, profile: Profile, running: Literal["drain", "cancel"], changes: dict[str, str]) -> None:
        await self._let_go(running)
        if not changes:
            self._replacing = True
            try:
                await self.host.stop()  # started again by hand: what serves may be what is broken
            finally:
                self._replacing = False
        self.profile = profile
        self._starting = self._spawn(self._start_or_roll_back(profile, changes))

    async def end_engine(self) -> None:
        """End the engine and those that are parked; `restart` starts one again."""
        self._owned("end the engine")
        await self._let_go("cancel")
        await self.host.stop_all()

    async def _let_go(self, running: Literal["drain", "cancel"]) -> None:
        """End what uses the engine, or starts one; a running replay as told."""
        if self.replaying:
            await self.cancel_replay(running)
            await asyncio.wait([self._running])  # type: ignore[list-item]
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait([self._starting])
        if self._considering is not None:
            self._considering.cancel()
        self.watch.end()

    async def _start_or_roll_back(self, profile: Profile, changes: dict[str, str]) -> None:
        good = self._good
        try:
            await self._start(profile)
        except VtuneError as error:
            if good is None or good is profile or not changes:
                raise
            self.emit("refused", levers=changes, what=error.what, mend=error.mend)
            self.profile = good
            await self._start(good)
            self.notice("info", "the last working engine serves again")
            raise

    def _engine_died(self) -> None:
        self.watch.end()
        if self.replaying:
            self._spawn(self.runner.stop("cancel"))

    # -- head start ----------------------------------------------------------------

    def _consider_head_start(self) -> None:
        """The pending arm starts in the background, once the levers have been left alone for a moment."""
        if self._considering is not None:
            self._considering.cancel()
        if self.profile.engine.head_start and self._attach is None and not self.replaying:
            self._considering = self._spawn(self._head_start())

    async def _head_start(self) -> None:
        await asyncio.sleep(HEAD_START_AFTER_S)
        engine = self.state.engine
        if not self.state.pending:
            await self.host.drop_ahead()
        elif engine is not None and engine.state == "ready":
            profile = self._pending_profile()
            launch = await asyncio.to_thread(launch_of, profile, self._say())
            await self.host.start_ahead(launch, profile.name)

    @property
    def replaying(self) -> bool:
        return self._running is not None and not self._running.done()

    # -- runs ----------------------------------------------------------------------

    async def replay(self) -> None:
        """Start a run on the ready engine; `finished()` waits for its result."""
        if self.replaying:
            raise VtuneError("a replay is running", "wait for it, or cancel it first")
        engine = self.state.engine
        if engine is None or engine.state not in ("ready", "attached"):
            raise VtuneError("the engine is not ready", "wait until it is, or start it again")
        if self._considering is not None:
            self._considering.cancel()
        await self.host.drop_ahead(unfinished_only=True)  # nothing starts while something is measured
        number = max(self.state.runs, default=0) + 1
        self._running = self._spawn(self.runner.run(number, self._label(number), self.traffic))

    async def finished(self) -> dict[str, Any]:
        """Wait for the run that `replay` started and return its vtune.run/1 object."""
        if self._running is None:
            raise VtuneError("no replay was started", "start one first")
        return await asyncio.shield(self._running)

    def _label(self, number: int) -> str:
        if self.traffic.label:
            return self.traffic.label
        if number == 1:
            return "baseline"
        return change_since(self.state.runs[number - 1], self.state)

    async def cancel_replay(self, how: Literal["drain", "cancel"] = "cancel") -> None:
        if not self.replaying:
            raise VtuneError("no replay is running", "start one first")
        if (number := self.state.running) is not None:
            self.emit("run-state", n=number, state="draining" if how == "drain" else "ending")
            self._show()
        await self.runner.stop(how)

    async def use_recording(self, ref: str | Path) -> None:
        """Replay another recording, a path or a name, from the next replay on. Raises VtuneError for a bad one."""
        found = await asyncio.to_thread(recordings.load, ref, filed=True, generating=True)
        self.traffic = replace(self.traffic, recording=found)
        self._tell_recording()

    async def record(self, port: int) -> None:
        """Record what clients send to loopback `port` (0: a free one), which passes it on to the engine."""
        await self.recorder.start(port, self._attach, self.profile.engine.front_port)

    async def stop_recording(self) -> None:
        """End the recorder; what it kept is replayed next."""
        await self.recorder.stop()

    async def hold_replay(self, paused: bool) -> None:
        if not self.replaying:
            raise VtuneError("no replay is running", "start one first")
        await self.runner.hold(paused)

    def set_baseline(self, number: int) -> None:
        if number not in self.state.runs:
            raise VtuneError(f"there is no run {number}", "choose a row of the runs table")
        self.emit("baseline", n=number)
        self._show()

    async def export(self) -> Path:
        """Write the report beside the journal and return its path."""
        from tui.session import report  # only an export needs it

        target = await asyncio.to_thread(report.export, self.folder, live=True)
        self.notice("info", f"report written to {target}")
        return target

    # -- the end ---------------------------------------------------------------------

    async def close(self) -> None:
        """End replay, engine and keeper, in this order; safe to call twice."""
        if self.state.closed:
            return
        if self._running is not None and self.replaying:
            await self.runner.stop("cancel")
            await asyncio.wait([self._running], timeout=10)
        for task in (self._starting, self._considering):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=10)
        self.watch.end()
        try:
            await self.recorder.close()
            await self.front.close()
            await self.host.close()
        finally:
            self.emit("close")
            if self._ticker is not None:
                self._ticker.cancel()
            self._journal.close()
            await self._client.aclose()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._reap)
        return task

    def _reap(self, task: asyncio.Task[Any]) -> None:
        """A task that failed is told as a notice; whoever awaits it gets the error as well."""
        self._tasks.discard(task)
        self.front.follow(self.state, self._is_starting)
        if task.cancelled() or (error := task.exception()) is None or self.state.closed:
            return
        if isinstance(error, VtuneError):
            self.notice("error", error.what, error.mend)
        else:
            self.notice("error", f"{type(error).__name__}: {error}", "a fault of vtune's own; --debug shows where")
