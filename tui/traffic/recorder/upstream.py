"""Connections to the upstream: one answer at a time, kept while they are surely open."""

import asyncio
import ssl
from time import monotonic_ns
from typing import Protocol

from tui.traffic.http.parser import ResponseParser
from tui.traffic.http.pool import MAX_IDLE_NS
from tui.traffic.http.target import Target
from tui.traffic.http.wire import PlainWire, TlsWire, open_wire


class Receiver(Protocol):
    """Who gets the raw bytes of an answer, and its end by the connection's. Times are CLOCK_MONOTONIC ns."""

    def answered(self, data: bytes, at: int) -> None: ...
    def upstream_lost(self, error: Exception | None) -> None: ...


class Upstream:
    """One connection. `fresh` ones have not carried a request yet."""

    def __init__(self) -> None:
        self.wire: PlainWire | TlsWire | None = None
        self.parser = ResponseParser()
        self.receiver: Receiver | None = None
        self.fresh = True
        self.closed = False
        self.idle_since = 0

    def begin(self, receiver: Receiver, method: str) -> None:
        self.receiver, self.parser = receiver, ResponseParser(method)

    def received(self, data: bytes, at: int, kernel: bool) -> None:
        if self.receiver is None:
            self.close()  # bytes that nobody asked for
        else:
            self.receiver.answered(data, at)

    def lost(self, error: Exception | None) -> None:
        self.closed = True
        if self.receiver is not None:
            self.receiver.upstream_lost(error)

    def close(self) -> None:
        self.closed, self.receiver = True, None
        if self.wire is not None:
            self.wire.close()


class Upstreams:
    """The connections to one target."""

    def __init__(self, target: Target, connect_s: float, tls: ssl.SSLContext | None = None) -> None:
        self.target, self._connect_s = target, connect_s
        self._tls = tls or (ssl.create_default_context() if target.tls else None)
        self._idle: list[Upstream] = []

    def idle(self) -> Upstream | None:
        while self._idle:
            upstream = self._idle.pop()
            if not upstream.closed and monotonic_ns() - upstream.idle_since <= MAX_IDLE_NS:
                return upstream
            upstream.close()
        return None

    async def connect(self) -> Upstream:
        """A new connection; raises OSError, TimeoutError where nobody answered in time."""
        upstream = Upstream()
        async with asyncio.timeout(self._connect_s):
            upstream.wire = await open_wire(self.target, upstream.received, upstream.lost, self._tls, self._connect_s)
        return upstream

    def give(self, upstream: Upstream) -> None:
        """Take back a connection whose answer has ended."""
        upstream.receiver, upstream.fresh, upstream.idle_since = None, False, monotonic_ns()
        assert upstream.wire is not None
        upstream.wire.resume()  # so that its end is noticed
        self._idle.append(upstream)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
