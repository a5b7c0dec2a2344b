"""A TCP connection whose reads carry the kernel's receive time.

asyncio's own transports read with ``recv``, which gives the time when the process got around to reading. Here plain
connections read with ``recvmsg`` and ``SO_TIMESTAMPNS``, so that our own delay is not in the stamps. Segments that the
kernel merged before we read carry the last one's time: a stamp is an upper bound. TLS goes through asyncio.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
import sys
from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from tui.traffic.http.clock import CLOCK
from tui.traffic.http.hub import Later, hub
from tui.traffic.http.target import Target

_SO_TIMESTAMPNS = getattr(socket, "SO_TIMESTAMPNS", 35) if sys.platform == "linux" and sys.maxsize > 2**32 else None
_TIMESPEC = struct.Struct("@ll")
_READ = 1 << 16

OnData = Callable[[bytes, int, bool], None]  # bytes, CLOCK_MONOTONIC ns, whether the kernel stamped it
OnLost = Callable[[Exception | None], None]


class PlainWire:
    """A connected non-blocking socket on the running loop."""

    def __init__(self, sock: socket.socket, on_data: OnData, on_lost: OnLost) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._fd = sock.fileno()
        self._on_data, self._on_lost = on_data, on_lost
        self._out = b""
        self._on_sent: Callable[[int], None] | None = None
        self._reading = self._writing = False
        self._ending = self._hasty = False
        self.closed = False
        self.resume()

    def hasten(self, wanted: bool) -> None:
        """Read it before other sockets of this loop, or no more so."""
        if wanted != self._hasty:
            self._hasty = wanted
            if self._reading:
                self._hub.hasten(self._fd, wanted)

    def write(self, data: bytes, on_sent: Callable[[int], None] | None = None) -> None:
        """Send all of `data`; `on_sent` gets the time when the last byte was handed to the kernel."""
        self._out += data
        self._on_sent = on_sent
        if not self.closed:
            self._writable()

    @property
    def pending(self) -> int:
        """Bytes that the kernel has not taken yet."""
        return len(self._out)

    def pause(self) -> None:
        """Read no more: the peer is held back as soon as the kernel's buffers are full."""
        if self._reading:
            self._reading = False
            self._hub.remove(self._fd)

    def resume(self) -> None:
        if not self._reading and not self.closed:
            self._reading = True
            self._hub = hub()
            self._hub.add(self._fd, self._readable)
            self._hub.hasten(self._fd, self._hasty)

    def end(self) -> None:
        """Say that nothing more comes, after what was written; reading goes on."""
        self._ending = True
        if not self._out and not self.closed:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.pause()
            self._loop.remove_writer(self._fd)
            self._sock.close()

    def _lose(self, error: Exception | None) -> None:
        if not self.closed:
            self.close()
            self._on_lost(error)

    def _writable(self) -> None:
        try:
            count = self._sock.send(self._out)
        except (BlockingIOError, InterruptedError):
            count = 0
        except OSError as error:
            # On its way out of write() the caller is not yet waiting.
            self._loop.call_soon(self._lose, error)
            self._watch_writing(False)
            return
        self._out = self._out[count:]
        self._watch_writing(bool(self._out))
        if self._out:
            return
        if self._ending:
            self.end()
        if self._on_sent is not None:
            done, self._on_sent = self._on_sent, None
            done(monotonic_ns())

    def _watch_writing(self, wanted: bool) -> None:
        if wanted != self._writing:
            self._writing = wanted
            if wanted:
                self._loop.add_writer(self._fd, self._writable)
            else:
                self._loop.remove_writer(self._fd)

    def _readable(self, later: Later | None) -> None:
        try:
            data, ancillary, _, _ = self._sock.recvmsg(_READ, 64)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error)
            return
        if not data:
            self._lose(None)
            return
        now, at = monotonic_ns(), None
        if ancillary:
            seconds, nanos = _TIMESPEC.unpack_from(ancillary[0][2])
            at = CLOCK.monotonic(seconds * 1_000_000_000 + nanos, now)
        if later is None:
            self._on_data(data, now if at is None else at, at is not None)
        else:
            later.append((self._deliver, (data, now if at is None else at, at is not None)))

    def _deliver(self, data: bytes, at: int, kernel: bool) -> None:
        if not self.closed:
            self._on_data(data, at, kernel)


class TlsWire(asyncio.Protocol):
    """The same over asyncio's TLS transport; stamps are the user's clock."""

    def __init__(self, on_data: OnData, on_lost: OnLost) -> None:
        self._on_data, self._on_lost = on_data, on_lost
        self._transport: asyncio.Transport | None = None
        self._on_sent: Callable[[int], None] | None = None  # of a write that the transport's buffer is too full for
        self._full = False
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._on_data(data, monotonic_ns(), False)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed:
            self.closed = True
            self._on_lost(exc)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._on_sent is not None:
            done, self._on_sent = self._on_sent, None
            done(monotonic_ns())

    def write(self, data: bytes, on_sent: Callable[[int], None] | None = None) -> None:
        assert self._transport is not None
        self._transport.write(data)
        if self._full:
            self._on_sent = on_sent
        elif on_sent is not None:
            on_sent(monotonic_ns())

    @property
    def pending(self) -> int:
        """Bytes that wait in the transport."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def pause(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.resume_reading()

    def hasten(self, wanted: bool) -> None:
        """Its reads are asyncio's own: they have no order."""

    def close(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.abort()


def prepare(sock: socket.socket) -> None:
    """Non-blocking, without Nagle's delay, stamped by the kernel where it can."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if _SO_TIMESTAMPNS is not None:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


async def _addresses(target: Target) -> list[tuple[Any, ...]]:
    try:  # a numeric host needs no look-up, and so no thread that would compete with the stamps
        return socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        return await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)


async def dial(target: Target, timeout_s: float) -> socket.socket:
    """Connect to the first address of the host that answers; raises OSError (TimeoutError included)."""
    loop = asyncio.get_running_loop()
    found = await _addresses(target)
    last: OSError = OSError(f"no address for {target.host}")
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            prepare(sock)
            async with asyncio.timeout(timeout_s):
                await loop.sock_connect(sock, address)
            return sock
        except OSError as error:
            sock.close()
            last = error
        except BaseException:
            sock.close()
            raise
    raise last


async def open_wire(
    target: Target, on_data: OnData, on_lost: OnLost, tls: ssl.SSLContext | None = None, timeout_s: float = 30.0
) -> PlainWire | TlsWire:
    """Connect (and do the TLS handshake); raises OSError, which ssl.SSLError and TimeoutError are."""
    sock = await dial(target, timeout_s)
    if not target.tls:
        return PlainWire(sock, on_data, on_lost)
    try:
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: TlsWire(on_data, on_lost),
            sock=sock,
            ssl=tls or ssl.create_default_context(),
            server_hostname=target.host,
            ssl_handshake_timeout=timeout_s,
        )
    except BaseException:
        sock.close()
        raise
    return wire
