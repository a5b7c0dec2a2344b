"""One HTTP/1.1 connection, one request at a time, with the times that matter."""

import asyncio
import ssl
from time import monotonic_ns
from typing import Protocol

from tui.traffic.http.parser import ProtocolError, ResponseParser
from tui.traffic.http.target import Target
from tui.traffic.http.wire import PlainWire, TlsWire, open_wire


class ConnectionLost(Exception):
    """The connection ended before the answer did; `started` tells whether any byte of it had come."""

    def __init__(self, text: str, started: bool) -> None:
        super().__init__(text)
        self.started = started


class Handler(Protocol):
    """Who is told about an answer while it comes. Times are CLOCK_MONOTONIC ns.

    Until there is a `first`, the time of the first content, its connection is read before others.
    """

    first: int | None

    def on_sent(self, at: int) -> None: ...
    def on_body(self, pieces: list[bytes], at: int, kernel: bool) -> None: ...


class Connection:
    """Made by `open_connection`. `idle_since` is CLOCK_MONOTONIC ns of the end of the last answer."""

    def __init__(self) -> None:
        self.idle_since = monotonic_ns()
        self.used = False
        self.closed = False
        self._wire: PlainWire | TlsWire | None = None
        self._parser: ResponseParser | None = None
        self._handler: Handler | None = None
        self._done: asyncio.Future[None] | None = None
        self._sent = True

    @property
    def reusable(self) -> bool:
        parser = self._parser
        # An answer may end before its request was sent whole; the rest of the request would then lead the next one.
        if self.closed or not self._sent:
            return False
        return parser is None or (parser.complete and parser.keep_alive and not parser.excess)

    async def exchange(self, data: bytes, handler: Handler, method: str = "POST") -> ResponseParser:
        """Send one encoded request and wait for the end of its answer.

        Body bytes go to `handler` as they come; the parser that is returned has status and headers.
        Raises ConnectionLost or ProtocolError; after those, or when cancelled, the connection is closed.
        """
        assert self._wire is not None
        if self.closed:
            raise ConnectionLost("the server closed the idle connection", started=False)
        self._parser, self._handler = ResponseParser(method), handler
        self._done = asyncio.get_running_loop().create_future()
        self.used, self._sent = True, False
        self._wire.hasten(True)
        try:
            self._wire.write(data, self._on_sent)
            await self._done
        except BaseException:
            self.close()
            raise
        finally:
            self._handler = self._done = None
        if not self.reusable:
            self.close()
        self.idle_since = monotonic_ns()
        return self._parser

    def close(self) -> None:
        self.closed = True
        if self._wire is not None:
            self._wire.close()

    def _on_sent(self, at: int) -> None:
        self._sent = True
        if self._handler is not None:
            self._handler.on_sent(at)

    def received(self, data: bytes, at: int, kernel: bool) -> None:
        parser, handler, done = self._parser, self._handler, self._done
        if parser is None or handler is None or done is None:
            self.close()  # bytes that nobody asked for
            return
        try:
            if pieces := parser.feed_pieces(data):
                handler.on_body(pieces, at, kernel)
                if handler.first is not None and self._wire is not None:
                    self._wire.hasten(False)
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to the one who waits, not to the loop
            self.close()
            if not done.done():
                done.set_exception(error)
            return
        if parser.complete and not done.done():
            done.set_result(None)

    def lost(self, error: Exception | None) -> None:
        self.closed = True
        parser, done = self._parser, self._done
        if parser is None or done is None or done.done():
            return
        if error is None and parser.feed_eof():
            done.set_result(None)
        else:
            text = str(error) if error else "the server closed the connection"
            done.set_exception(ConnectionLost(text, parser.started))

    def attach(self, wire: PlainWire | TlsWire) -> None:
        self._wire = wire


async def open_connection(target: Target, tls: ssl.SSLContext | None = None, timeout_s: float = 30.0) -> Connection:
    """Connect (and do the TLS handshake); raises OSError, which ssl.SSLError and TimeoutError are."""
    connection = Connection()
    connection.attach(await open_wire(target, connection.received, connection.lost, tls, timeout_s))
    return connection


__all__ = ["Connection", "ConnectionLost", "Handler", "ProtocolError", "open_connection"]
