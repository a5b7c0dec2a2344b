"""Writing to a terminal that may hang or go away."""

import os
import sys
from contextlib import suppress
from queue import Empty, Full
from threading import Thread
from typing import Any, TextIO

from textual.drivers.linux_driver import LinuxDriver

_LAST_WORDS_S = 2.0


class TerminalDriver(LinuxDriver):
    """Textual's driver, but nobody waits for the terminal.

    Textual writes in a thread, and whoever draws waits once 30 writes do: an ssh that hangs would hold up the session,
    and a terminal that was closed meanwhile would for ever. Here the oldest write gives way instead; from then on the
    driver is `behind`, until it is told to have `caught_up`: what was left out has to be drawn again.
    """

    behind = False

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._file = drawn_on() or self._file

    def _get_terminal_size(self) -> tuple[int, int]:
        if sys.__stdout__ is None or not sys.__stdout__.isatty():  # which Textual would ask
            with suppress(OSError):
                return tuple(os.get_terminal_size(self._file.fileno()))
        return super()._get_terminal_size()

    @property
    def flows(self) -> bool:
        """Whether the terminal has taken all that was written."""
        thread = self._writer_thread
        return thread is not None and thread.is_alive() and thread._queue.empty()

    def caught_up(self) -> None:
        self.behind = False

    def write(self, data: str) -> None:
        thread = self._writer_thread
        while thread is not None and thread.is_alive():
            try:
                thread._queue.put_nowait(data)
            except Full:
                self.behind = True
                with suppress(Empty):
                    thread._queue.get_nowait()
            else:
                return

    def close(self) -> None:
        if self._writer_thread is not None:
            last = Thread(target=self._writer_thread.stop, daemon=True)
            last.start()
            last.join(_LAST_WORDS_S)


def drawn_on() -> TextIO | None:
    """Textual takes standard error, which may go to a file; standard output does as well."""
    return next((one for one in (sys.__stderr__, sys.__stdout__) if one is not None and one.isatty()), None)
