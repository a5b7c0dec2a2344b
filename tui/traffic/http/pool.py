"""Idle connections, kept only as long as a server surely keeps them."""

import ssl
from collections.abc import Callable
from time import monotonic_ns

from tui.traffic.http.connection import Connection, open_connection
from tui.traffic.http.target import Target

# vLLM closes a connection that is idle for 5 s (VLLM_HTTP_TIMEOUT_KEEP_ALIVE); one second is the margin.
MAX_IDLE_NS = 4 * 10**9


class Pool:
    """Connections to one target. `now` is a clock in ns, given in tests."""

    def __init__(
        self, target: Target, tls: ssl.SSLContext | None = None, now: Callable[[], int] = monotonic_ns
    ) -> None:
        self.target = target
        self._tls = tls or (ssl.create_default_context() if target.tls else None)
        self._now = now
        self._idle: list[Connection] = []

    def idle(self, until_ns: int = 0) -> Connection | None:
        """An idle connection that is still fresh at `until_ns` (or now, if that is later), if there is one."""
        at = max(self._now(), until_ns)
        while self._idle:
            connection = self._idle.pop()  # the last used is the freshest
            if self.fresh(connection, at):
                return connection
            connection.close()
        return None

    async def connect(self) -> Connection:
        """A new connection; raises OSError."""
        connection = await open_connection(self.target, self._tls)
        connection.idle_since = self._now()
        return connection

    def fresh(self, connection: Connection, at_ns: int | None = None) -> bool:
        """Whether it may carry a request at `at_ns` (default: now)."""
        at = self._now() if at_ns is None else at_ns
        return connection.reusable and at - connection.idle_since <= MAX_IDLE_NS

    def give(self, connection: Connection) -> None:
        """Take back a connection whose answer has ended."""
        if connection.reusable:
            connection.idle_since = self._now()
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
