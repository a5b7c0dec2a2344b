"""One connection of a client: its requests, answered in order."""

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.traffic.http.message import ProtocolError
from tui.traffic.http.request import RequestParser
from tui.traffic.http.wire import PlainWire
from tui.traffic.recorder import heads
from tui.traffic.recorder.exchange import Exchange

if TYPE_CHECKING:
    from tui.traffic.recorder.proxy import Proxy

# Requests sent before the last answer wait here; with more, reading waits.
_MAX_EARLY = 1 << 16
# A connection that we end is read on for so long: closing it over unread bytes would destroy the answer on its way.
_LINGER_S = 2.0


class Client:
    """Made for an accepted socket."""

    def __init__(self, sock: socket.socket, proxy: "Proxy") -> None:
        self._proxy = proxy
        self._parser = RequestParser()
        self._at = 0  # arrival of the request's first byte, CLOCK_MONOTONIC ns
        self._early = b""
        self._ending = False
        self._linger: asyncio.TimerHandle | None = None
        self.exchange: Exchange | None = None
        self._wire = PlainWire(sock, self._received, self._lost)

    @property
    def pending(self) -> int:
        return self._wire.pending

    def pause(self) -> None:
        self._wire.pause()

    def resume(self) -> None:
        if len(self._early) <= _MAX_EARLY:
            self._wire.resume()

    def write(self, data: bytes, drained: Callable[[int], None] | None) -> None:
        self._wire.write(data, drained)

    def exchange_ended(self, stays: bool) -> None:
        """The answer was written; go on with the next request, or end the connection."""
        self.exchange = None
        if not stays or self._proxy.stopping:
            self._end()
            return
        self._parser = RequestParser()
        early, self._early = self._early, b""
        self._wire.resume()
        if early:
            self._take(early, self._proxy.now())

    def close_after_writing(self) -> None:
        """For an answer that was cut short: what came of it goes out, then the connection ends."""
        self.exchange = None
        self._ending = True
        self._wire.write(b"", lambda at: self.close())

    def close(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.stop()
        self._wire.close()
        self._proxy.clients.discard(self)

    def close_if_idle(self) -> None:
        if self.exchange is None and not self._ending and self._parser.between_messages:
            self.close()

    def _received(self, data: bytes, at: int, kernel: bool) -> None:
        if self._ending:
            return
        if self.exchange is not None and self._parser.complete:
            self._early += data
            if len(self._early) > _MAX_EARLY:
                self._wire.pause()
            return
        self._take(data, at)

    def _take(self, data: bytes, at: int) -> None:
        parser = self._parser
        if not parser.started:
            self._at = at
        try:
            piece = parser.feed(data)
        except ProtocolError as error:
            self._refuse(str(error))
            return
        if parser.complete:
            self._early = parser.excess
        if self.exchange is not None:
            if piece or parser.complete:
                self.exchange.upload(piece)
        elif parser.method:
            self._begin(parser, piece)

    def _begin(self, parser: RequestParser, piece: bytes) -> None:
        if not parser.target.startswith("/") and parser.target != "*":
            self._refuse("this is no forward proxy: make it the base URL instead")
            return
        self.exchange = self._proxy.exchange(self, parser, self._at)
        self.exchange.begin(piece)

    def _refuse(self, words: str) -> None:
        if self.exchange is not None:
            self.exchange.refuse(words)
        else:
            self._proxy.refused(words)
            self._wire.write(heads.error_answer(400, words))
            self._end()

    def _end(self) -> None:
        self._ending = True
        self._early = b""
        self._wire.resume()
        self._wire.end()
        self._linger = asyncio.get_running_loop().call_later(_LINGER_S, self._stop_lingering)

    def _stop_lingering(self) -> None:
        if self._wire.pending:  # a slow reader still takes its answer
            self._linger = asyncio.get_running_loop().call_later(_LINGER_S, self._stop_lingering)
        else:
            self.close()

    def _lost(self, error: Exception | None) -> None:
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.client_lost()
        self.close()
