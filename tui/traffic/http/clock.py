"""The kernel's receive times on the clock that everything else here is measured with."""

from collections.abc import Callable
from time import monotonic_ns, time_ns

EVERY_NS = 100_000_000
STEP_NS = 1_000_000
OLDEST_NS = 60 * 10**9  # a stamp older than this is not believed


class KernelClock:
    """Turns stamps of the wall clock (what ``SO_TIMESTAMPNS`` gives) into CLOCK_MONOTONIC ns.

    NTP slews both clocks alike, so what lies between them changes only when somebody sets the wall clock. It is
    measured again ten times a second while there are reads; `steps` counts how often it had moved by over 1 ms, and
    stamps of the tenth of a second before such a step may be off by it. The clocks are given in tests.
    """

    def __init__(self, now: Callable[[], int] = monotonic_ns, wall: Callable[[], int] = time_ns) -> None:
        self._now, self._wall = now, wall
        self._measured: int | None = None
        self._offset = 0
        self.steps = 0

    def monotonic(self, stamp: int, now: int) -> int | None:
        """`stamp` on the monotonic clock, for a read at `now`; None for one that can't be true."""
        if self._measured is None or now - self._measured > EVERY_NS:
            self._measure()
        at = stamp - self._offset
        if not now - OLDEST_NS < at <= now:
            self._measure()  # set since the last measurement
            at = stamp - self._offset
        return at if now - OLDEST_NS < at <= now else None

    def _measure(self) -> None:
        """The tightest of three readings: another process may run between the two clocks."""
        readings = []
        for _ in range(3):
            before = self._now()
            wall = self._wall()
            after = self._now()
            readings.append((after - before, wall - (before + after) // 2))
        offset = min(readings)[1]
        if self._measured is not None and abs(offset - self._offset) > STEP_NS:
            self.steps += 1
        self._offset, self._measured = offset, self._now()


CLOCK = KernelClock()  # there is one kernel
