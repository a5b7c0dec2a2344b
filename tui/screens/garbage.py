"""When Python looks for garbage: while nobody waits for the screen.

Left alone it goes through all that is kept about once for each window that opens, in the middle of drawing it, and that
takes longer than the window.
"""

import gc
import time

QUIET_S = 1.5
"""So long after a key nobody waits for an answer."""
EVERY_S = 20.0
AT_LATEST_S = 120.0
"""Where keys never stop coming."""

_YOUNG = 2_000
"""Objects: what is young is looked through as it is made, for it is little."""
_NEVER = 1_000_000


class Garbage:
    """`begin` after the first paint, then `look` every second or so. `pressed` is when the last key came, monotonic."""

    def __init__(self) -> None:
        self._next = self._latest = 0.0
        self._settled = False
        self._before = gc.get_threshold()

    def begin(self) -> None:
        """What was loaded so far stays: it is not looked through again."""
        gc.freeze()
        gc.set_threshold(_YOUNG, 10, _NEVER)
        gc.enable()
        self._put_off()

    def look(self, pressed: float) -> bool:
        """Collect if it is time to, and quiet; whether it was done."""
        now = time.monotonic()
        if now < self._next or (now - pressed < QUIET_S and now < self._latest):
            return False
        gc.collect()
        if not self._settled:  # the session and its libraries are open now, and stay as well
            gc.freeze()
            self._settled = True
        self._put_off()
        return True

    def end(self) -> None:
        """Leave it to Python again."""
        gc.set_threshold(*self._before)

    def _put_off(self) -> None:
        now = time.monotonic()
        self._next, self._latest = now + EVERY_S, now + AT_LATEST_S
