"""When Python looks for garbage: while nobody waits for the screen.

Left alone it goes through all that is kept about once for each window that opens, in the middle of drawing it, and that
takes longer than the window.
"""

import gc
import time

QUIET_S = 0.35
"""So long after a key nobody waits for an answer."""
EVERY_S = 3.0
"""Each window leaves garbage behind that takes 4 ms: that of a few at a time."""
AT_LATEST_S = 10.0
"""Where keys never stop coming."""
SETTLED_S = 4.0
"""So long after the first paint the session and its libraries are there. They stay, and to look through them once
would take half a second."""
LONG_S = 0.05
"""What is kept has grown so far that it is left alone from then on as well."""

_YOUNG = 2_000
"""Objects: what is young is looked through as it is made, for it is little."""
_NEVER = 1_000_000


class Garbage:
    """`begin` after the first paint, then `look` a few times a second."""

    def __init__(self) -> None:
        self._began = self._next = self._latest = 0.0
        self._settled = False
        self._before = gc.get_threshold()

    def begin(self) -> None:
        """What was loaded so far stays: it is not looked through again."""
        gc.freeze()
        gc.set_threshold(_YOUNG, 10, _NEVER)
        gc.enable()
        self._began = time.monotonic()
        self._put_off()

    def look(self, pressed: float, alone: bool) -> bool:
        """Collect if it is time to, and quiet; whether it was done.

        `pressed` is when the last key came, monotonic; `alone`: no window lies over the dashboard, so that all there is
        will stay.
        """
        now = time.monotonic()
        if alone and not self._settled and now - self._began >= SETTLED_S:
            gc.freeze()
            self._settled = True
        if now < self._next or (now - pressed < QUIET_S and now < self._latest):
            return False
        gc.collect()
        if alone and time.monotonic() - now > LONG_S:
            gc.freeze()
        self._put_off()
        return True

    def end(self) -> None:
        """Leave it to Python again."""
        gc.set_threshold(*self._before)

    def _put_off(self) -> None:
        now = time.monotonic()
        self._next, self._latest = now + EVERY_S, now + AT_LATEST_S
