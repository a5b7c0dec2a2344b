"""Writing to a terminal that may hang or go away."""

from contextlib import suppress
from queue import Empty, Full
from threading import Thread

from textual.drivers.linux_driver import LinuxDriver

_LAST_WORDS_S = 2.0


class TerminalDriver(LinuxDriver):
    """Textual's driver, but nobody waits for the terminal.

    Textual writes in a thread, and whoever draws waits once 30 writes do: an ssh that hangs would hold up the session,
    and a terminal that was closed meanwhile would for ever. Here the oldest write gives way instead; from then on the
    driver is `behind`, until it is told to have `caught_up`: what was left out has to be drawn again.
    """

    behind = False

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
