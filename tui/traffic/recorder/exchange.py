"""The pump: one request to the upstream and its answer back, byte by byte as they come."""

import asyncio
import os
import ssl
from time import monotonic_ns
from typing import TYPE_CHECKING

from tui.traffic.http.parser import ProtocolError
from tui.traffic.http.request import RequestParser
from tui.traffic.recorder import heads
from tui.traffic.recorder.capture import Capture
from tui.traffic.recorder.upstream import Upstream, Upstreams

if TYPE_CHECKING:
    from tui.traffic.recorder.client import Client

# More than this waiting for one side holds the other side back; the kernel's buffers come on top.
HIGH = 1 << 18
_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
_KEPT_TO_REPEAT = 1 << 24


class Exchange:
    """Made when a request's head is complete. Ends by `client.exchange_ended`, or with the client."""

    def __init__(
        self, client: "Client", request: RequestParser, upstreams: Upstreams, capture: Capture, timeout_s: float
    ) -> None:
        self.client, self.request, self.capture = client, request, capture
        self._upstreams, self._timeout_s = upstreams, timeout_s
        self._loop = asyncio.get_running_loop()
        self._upstream: Upstream | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._waiting: list[bytes] = [heads.request_head(request, upstreams.target)]  # for a connection
        self._waiting_size = 0
        self._sent: list[bytes] | None = None  # to repeat it, where that is safe
        self._sent_size = 0
        self._begun = False  # the client has the answer's head
        self._stays = False
        self._over = False
        self._last_ns = monotonic_ns()  # when something happened that was not up to the client
        self._timer = self._loop.call_later(timeout_s, self._check_time)
        # A generation that was never answered may be asked again; another POST may not (RFC 9110, 9.2.2).
        self._repeatable = request.method in _SAFE or bool(capture.path)
        # Without this a body would be read as the next request by a client that speaks HTTP/1.0.
        self._unchunk = False

    def begin(self, piece: bytes) -> None:
        """Start, with what came of the body so far."""
        idle = self._upstreams.idle()
        self.upload(piece)
        if idle is not None:
            self._use(idle)
        else:
            self._connecting = self._loop.create_task(self._connect())

    def upload(self, piece: bytes) -> None:
        """Pass on a piece of the body; the parser says whether it was the last."""
        data = piece
        if self.request.chunked:
            data = b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b""
            data += b"0\r\n\r\n" if self.request.complete else b""
        if self._upstream is None:
            self._waiting.append(data)
            self._waiting_size += len(data)
            if self._waiting_size > HIGH:
                self.client.pause()
        elif data:
            self._send(self._upstream, data)
        self._last_ns = monotonic_ns()
        if piece:
            self.capture.uploaded(piece)

    async def _connect(self) -> None:
        try:
            upstream = await self._upstreams.connect()
        except TimeoutError:
            self._fail(504, "the upstream did not accept a connection in time")
        except OSError as error:
            self._fail(502, f"cannot connect to the upstream: {_words(error)}")
        else:
            if self._over:
                upstream.close()
            elif upstream.closed:
                self._fail(502, "the upstream closed the connection at once")
            else:
                self._use(upstream)

    def _use(self, upstream: Upstream) -> None:
        self._upstream = upstream
        upstream.begin(self, self.request.method)
        self._sent = None if upstream.fresh or not self._repeatable else []
        waiting, self._waiting, self._waiting_size = b"".join(self._waiting), [], 0
        self._send(upstream, waiting)

    def _send(self, upstream: Upstream, data: bytes) -> None:
        assert upstream.wire is not None
        if self._sent is not None:
            self._sent.append(data)
            self._sent_size += len(data)
            if self._sent_size > _KEPT_TO_REPEAT:
                self._sent = None
        upstream.wire.write(data, self._upstream_drained)
        if upstream.wire.pending > HIGH:
            self.client.pause()

    def _upstream_drained(self, at: int) -> None:
        self._last_ns = at
        self.client.resume()

    def answered(self, data: bytes, at: int) -> None:
        upstream = self._upstream
        assert upstream is not None and upstream.wire is not None
        parser = upstream.parser
        try:
            body = parser.feed(data)
        except ProtocolError as error:
            self._broken(f"the upstream does not speak HTTP/1.1: {error}")
            return
        self._last_ns = monotonic_ns()
        out = self._interim(parser.interim) if parser.interim else b""
        if parser.status is not None:
            out += self._outgoing(data, body)
        if out:
            self.client.write(out, self._client_drained)
            if self.client.pending > HIGH:
                upstream.wire.pause()
        if body:
            self.capture.answered(body, at)
        if parser.complete:
            self._finish(at)

    def _outgoing(self, data: bytes, body: bytes) -> bytes:
        """What the client gets of `data`: the body in the upstream's own framing."""
        assert self._upstream is not None
        parser, head = self._upstream.parser, b""
        if not self._begun:
            self._begun, self._sent = True, None
            self._stays = self._client_can_stay()
            self._unchunk = parser.chunked and not self.request.modern
            head = heads.answer_head(parser, not self._stays, self._unchunk)
            data = data[parser.head_end :]
        if self._unchunk:
            return head + body
        return head + (data[: -len(parser.excess)] if parser.excess else data)

    def _interim(self, interim: list[tuple[int, str, list[tuple[str, str]]]]) -> bytes:
        out = b"".join(heads.interim_head(*one) for one in interim) if self.request.modern else b""
        interim.clear()
        return out

    def _client_drained(self, at: int) -> None:
        if self._upstream is not None and self._upstream.wire is not None:
            self._last_ns = at
            self._upstream.wire.resume()

    def _client_can_stay(self) -> bool:
        """Whether the client's connection can carry a next request; asked when the answer's head is there."""
        assert self._upstream is not None
        parser, request = self._upstream.parser, self.request
        ends_itself = parser.complete or parser.chunked or "content-length" in parser.headers
        return request.keep_alive and request.modern and ends_itself and request.complete

    def _finish(self, at: int) -> None:
        upstream = self._upstream
        assert upstream is not None and upstream.wire is not None
        if upstream.parser.keep_alive and not upstream.parser.excess and self.request.complete and not upstream.closed:
            if upstream.wire.pending:
                upstream.close()  # it answered before it had the whole request
            else:
                self._upstreams.give(upstream)
        else:
            upstream.close()
        self._end()
        self.capture.ended(at, "whole", upstream.parser)
        self.client.exchange_ended(self._stays)

    def upstream_lost(self, error: Exception | None) -> None:
        upstream = self._upstream
        assert upstream is not None
        if error is None and upstream.parser.feed_eof():
            self._finish(monotonic_ns())
        elif not upstream.parser.started and self._sent is not None:
            # It was closed for being idle just as we wrote.
            self._waiting, self._sent = self._sent, None
            self._waiting_size = sum(map(len, self._waiting))
            upstream.receiver, self._upstream = None, None
            self._connecting = self._loop.create_task(self._connect())
        else:
            how = _words(error) if isinstance(error, OSError) else str(error or "closed the connection")
            self._broken(f"the upstream ended the answer: {how}")

    def client_lost(self) -> None:
        """The client hung up: so do we, and the engine stops working for nobody."""
        self._cut("the client hung up")

    def stop(self) -> None:
        """The recorder ends."""
        self._cut("the recorder was stopped")

    def refuse(self, words: str) -> None:
        """The rest of the request cannot be read."""
        self._fail(400, words)

    def _check_time(self) -> None:
        quiet = (monotonic_ns() - self._last_ns) / 1e9
        left = self._timeout_s - quiet
        up_to_client = self.client.pending > HIGH or (not self.request.complete and not self._begun)
        if left > 0 or up_to_client:
            self._timer = self._loop.call_later(max(left, 0.05 * self._timeout_s), self._check_time)
            return
        if self._begun:
            self._broken(f"the upstream sent nothing for {self._timeout_s:g} s")
        else:
            self._fail(504, f"the upstream did not answer within {self._timeout_s:g} s")

    def _broken(self, words: str) -> None:
        if not self._begun:
            self._fail(502, words)
            return
        self._cut(words)
        self.client.close_after_writing()  # cut short, as it was: the client must not take it for whole

    def _fail(self, status: int, words: str) -> None:
        """Answer in the upstream's place, where it has not begun to."""
        if self._over:
            return
        begun = self._begun
        self._cut(words, status)
        if begun:
            self.client.close_after_writing()
        else:
            self.client.write(heads.error_answer(status, words), None)
            self.client.exchange_ended(False)

    def _cut(self, how: str, status: int | None = None) -> None:
        if self._over:
            return
        upstream = self._upstream
        self._end()
        if upstream is not None:
            upstream.close()
        self.capture.ended(monotonic_ns(), how, upstream.parser if upstream else None, status)

    def _end(self) -> None:
        self._over = True
        self._timer.cancel()
        if self._connecting is not None and self._connecting is not asyncio.current_task():
            self._connecting.cancel()
        self._upstream = None


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):  # its number is none of the system's
        return str(error)
    # asyncio puts its own text before the system's.
    system = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else None
    return system or str(error) or type(error).__name__
