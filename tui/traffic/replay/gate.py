"""The run's own time, which stands still while the replay is paused."""

import asyncio
from time import monotonic_ns

from tui.traffic.replay.timer import Timer


class Gate:
    """Schedule times are ns from the start of the run; moments are CLOCK_MONOTONIC ns. A pause puts off all that is
    not due yet by its own length. Must be made on a running loop."""

    def __init__(self, timer: Timer, origin_ns: int) -> None:
        self._timer, self._origin = timer, origin_ns
        self._going = asyncio.Event()
        self._going.set()
        self._paused_at: int | None = None
        self._over_ns = 0  # length of the pauses that are over
        self.resumed_at = origin_ns  # nothing is due before: the start, or the end of the last pause

    @property
    def paused(self) -> bool:
        return self._paused_at is not None

    @property
    def paused_ns(self) -> int:
        """All pauses together, the present one included."""
        return self._over_ns + (0 if self._paused_at is None else monotonic_ns() - self._paused_at)

    def pause(self) -> None:
        if self._paused_at is None:
            self._paused_at = monotonic_ns()
            self._going.clear()

    def resume(self) -> None:
        if self._paused_at is not None:
            now = monotonic_ns()
            self._over_ns += now - self._paused_at
            self._paused_at, self.resumed_at = None, max(now, self.resumed_at)
            self._going.set()

    def moment(self, due: int) -> int:
        """When schedule time `due` comes if nothing more is paused."""
        return self._origin + due + self.paused_ns

    def schedule(self, moment: int) -> int:
        """The schedule time of a moment that was just now."""
        if self._paused_at is not None:
            moment = min(moment, self._paused_at)
        return moment - self._origin - self._over_ns

    async def until(self, due: int, lead: int = 0) -> int:
        """Wait until `lead` ns before schedule time `due`; gives the moment of `due`."""
        while True:
            if self._paused_at is not None:
                await self._going.wait()
            over = self._over_ns
            await self._timer.until(self._origin + due + over - lead)
            if self._paused_at is None and over == self._over_ns:
                return self._origin + due + over
