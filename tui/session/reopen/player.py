"""`Controls` of a kept session: it plays and seeks, and refuses whatever would start or change something."""

import asyncio
import contextlib
import copy
import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from tui.errors import VtuneError
from tui.session import journal, report, views
from tui.session.reopen import places
from tui.session.reopen.landmarks import Landmark
from tui.session.reopen.position import Position, local, spans, zone
from tui.session.reopen.reel import Reel
from tui.session.snapshot import EMPTY, Snapshot

TICK_S = 0.25
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


class Player:
    """Opens at the end: there a session shows what it came to. One that is being written is followed there."""

    def __init__(self, folder: Path) -> None:
        """Raises VtuneError where there is no session in `folder`, or one of a newer vtune."""
        self.folder = folder
        self._reel = Reel(folder)
        header = self._reel.tape.header
        created = str(header.get("created_at") or "")
        self._name, self._created, self._zone = str(header.get("session") or folder.name), local(created), zone(created)
        self._at = 0.0
        self._playing, self._following, self._loaded = False, True, False
        self._speed = 1.0
        self._live = journal.is_written(folder)
        self._baseline: int | None = None
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._task: asyncio.Task[None] | None = None

    # -- what the screen gets ------------------------------------------------------

    def subscribe(self, listener: Callable[[Snapshot], None]) -> None:
        self._listeners.append(listener)
        listener(self.snapshot())

    def snapshot(self) -> Snapshot:
        """The session at the playhead. How old its last scrape was then, the journal does not tell."""
        if not self._loaded:
            return EMPTY
        state = self._reel.state
        if self._baseline in state.runs and self._baseline != state.baseline:
            state = copy.copy(state)
            state.baseline = self._baseline
        picture = replace(views.snapshot(state, self.folder, self._at, None), kept=True)
        if self._following or picture.engine.state not in ("starting", "warming"):
            return picture
        # Its log is as it became later: beside an engine that only starts it would tell of its end.
        return replace(picture, engine=replace(picture.engine, log_path=None))

    def position(self) -> Position:
        reel, tape = self._reel, self._reel.tape
        passed = [one for one in reel.landmarks if one.number < reel.number]
        return Position(
            self._name, self._created, tape.start, self._end, self._at, self._clock, self._playing, self._speed,
            self._live, self._following, reel.closed, reel.unread,
            None if self._loaded else tape.read_bytes / max(1, tape.bytes), passed[-1] if passed else None,
            spans(reel.landmarks, self._end), tuple(one.at for one in reel.landmarks if one.kind == "trouble"),
        )  # fmt: skip

    @property
    def _clock(self) -> str:
        return datetime.fromtimestamp(self._at, self._zone).strftime("%H:%M:%S") if self._at else ""

    def _tell(self) -> None:
        picture = self.snapshot()
        for listener in self._listeners:
            listener(picture)

    # -- time ------------------------------------------------------------------------

    @property
    def _end(self) -> float:
        """A session that goes on lasts until now, also while nothing happens in it."""
        end = self._reel.tape.end
        return max(end, time.time()) if self._live else end

    async def start(self) -> None:
        """Read the journal, a part at a time; no engine is started."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        with contextlib.suppress(OSError):  # a disk that can't be read: what came before is shown
            while await asyncio.to_thread(self._reel.read_on):
                self._tell()
        self._loaded = True
        self._go(len(self._reel.tape), self._end)
        before = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self._advance(now - before, self._look_for_more())
            before = now

    def _look_for_more(self) -> bool:
        """Whether the session may have gone on since the last look."""
        if not self._live:
            return False
        self._live = journal.is_written(self.folder)
        with contextlib.suppress(OSError):
            while self._reel.read_on():
                pass
        return True

    def _advance(self, seconds: float, went_on: bool) -> None:
        """`seconds` have passed for the person."""
        if self._playing:
            at = self._at + seconds * self._speed
            if at < self._end:
                self._go(self._reel.tape.until(at), at)
                return
            self._playing, self._following = False, True
        elif not (went_on and self._following):
            return
        self._go(len(self._reel.tape), self._end)

    def _go(self, number: int, at: float) -> None:
        self._reel.go(number)
        self._at = at
        self._tell()

    def play(self) -> None:
        """Play, or pause; at the end it begins again."""
        self._ready()
        self._playing = not self._playing
        if self._playing and self._following:
            self.seek(self._reel.tape.start)
        self._following = self._following and not self._playing
        self._tell()

    def faster(self, steps: int) -> None:
        """The next of `SPEEDS`; negative is slower."""
        place = SPEEDS.index(self._speed) + steps
        self._speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]
        self._tell()

    def seek(self, at: float) -> None:
        """To a moment (epoch seconds); before the start is the start, after the end the end."""
        self._ready()
        start, end = self._reel.tape.start, self._end
        self._following = at >= end
        at = max(start, min(at, end))
        self._go(len(self._reel.tape) if self._following else self._reel.tape.until(at), at)

    def by(self, seconds: float) -> None:
        self.seek(self._at + seconds)

    def to_share(self, share: float) -> None:
        """0 is the start of the session, 1 its end."""
        start, end = self._reel.tape.start, self._end
        self.seek(start + share * (end - start) if share < 1 else math.inf)  # the end of one that runs moves on

    def to(self, words: str) -> None:
        """To a place in words, see `places`. Raises VtuneError for others."""
        self._ready()
        found = places.find(words, self._reel.tape.start, self._end, self._reel.landmarks, self._zone)
        if isinstance(found, Landmark):
            self._stop_at(found)
        else:
            self.seek(found)

    def step(self, by: Literal[-1, 1], runs: bool = False) -> None:
        """To the next or the previous landmark, or begin of a run. Raises VtuneError where there is none."""
        self._ready()
        wanted = [one for one in self._reel.landmarks if one.kind == "run"] if runs else self._reel.landmarks
        number = self._reel.number
        if by > 0:
            found = next((one for one in wanted if one.number >= number), None)
        else:
            found = next((one for one in reversed(wanted) if one.number < number - 1), None)
        if found is None:
            thing = "run" if runs else "event"
            raise VtuneError(f"no {'later' if by > 0 else 'earlier'} {thing}", "home and end go to start and end")
        self._stop_at(found)

    def _stop_at(self, mark: Landmark) -> None:
        self._following = False
        self._go(mark.number + 1, mark.at)

    def _ready(self) -> None:
        if not self._loaded:
            raise VtuneError("the session is still being read", "try again in a moment")

    # -- what a kept session can't do ------------------------------------------------

    def refusal(self, action: str) -> VtuneError:
        return VtuneError(f"can't {action}: a kept session is only read", "plain `vtune` starts one")

    def set_lever(self, name: str, value: str) -> None:
        raise self.refusal("change a lever")

    def undo(self) -> None:
        raise self.refusal("undo a change")

    async def apply(self, running: Literal["drain", "cancel"] = "drain") -> None:
        raise self.refusal("apply a change")

    async def replay(self) -> None:
        raise self.refusal("replay")

    async def cancel_replay(self, how: Literal["drain", "cancel"] = "cancel") -> None:
        raise self.refusal("end a replay")

    async def hold_replay(self, paused: bool) -> None:
        raise self.refusal("hold a replay")

    async def restart(self) -> None:
        raise self.refusal("start an engine")

    async def end_engine(self) -> None:
        raise self.refusal("end an engine")

    async def use_recording(self, ref: str) -> None:
        raise self.refusal("change the recording")

    async def record(self, port: int) -> None:
        raise self.refusal("record")

    async def stop_recording(self) -> None:
        raise self.refusal("end a recorder")

    def set_baseline(self, number: int) -> None:
        """For what is shown only: nothing is written."""
        if number not in self._reel.state.runs:
            raise VtuneError(f"there is no run {number} yet", "choose a row of the runs table")
        self._baseline = number
        self._tell()

    async def export(self) -> Path:
        """Write the report of the whole session into its folder."""
        return await asyncio.to_thread(report.export, self.folder)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
