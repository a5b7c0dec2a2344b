"""The stable address before the session's engines: it follows what the state says."""

from collections.abc import Callable

from tui.engine.front import Front
from tui.session.state import State


class Frontage:
    """Off until `open`. `notice` tells the user: level, what, mend."""

    def __init__(self, notice: Callable[..., None]) -> None:
        self._notice = notice
        self._front: Front | None = None
        self._behind: str | None = None  # what the front was told last: a URL, "wait" or ""

    @property
    def pid(self) -> int | None:
        return self._front.pid if self._front is not None else None

    @property
    def url(self) -> str | None:
        """The stable address; None while there is none."""
        return self._front.url if self._front is not None else None

    async def open(self, port: int | None) -> None:
        """Listen at `port`, where it does not yet. Raises VtuneError when it is taken."""
        if port is None or self._front is not None:
            return
        self._front = await Front.open(port, self._ended)
        self._notice("info", f"{self._front.url} is the engine that serves, whichever that is")

    def follow(self, state: State, starting: bool) -> None:
        """Point at the engine that serves; hold new connections while one is `starting`."""
        if self._front is None:
            return
        engine = state.engine
        if engine is not None and engine.state == "ready" and engine.url:
            behind = engine.url
        else:
            behind = "wait" if starting else ""
        if behind == self._behind:
            return
        self._behind = behind
        if behind == "wait":
            self._front.wait()
        elif not behind:
            self._front.nobody()
        else:
            host, _, port = behind.partition("://")[2].rpartition(":")
            self._front.serve(host, int(port))

    def _ended(self, how: str) -> None:
        if self._front is not None:
            url, self._front = self._front.url, None
            self._behind = None
            self._notice("error", f"{url} is gone: its process ended ({how})", "restart the engine to have it again")

    async def close(self) -> None:
        if self._front is not None:
            front, self._front = self._front, None
            await front.close()
