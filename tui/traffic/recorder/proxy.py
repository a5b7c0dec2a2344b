"""The listening side: accepts clients and counts what passes."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Callable
from time import monotonic_ns

from tui.errors import VtuneError
from tui.traffic.http.request import RequestParser
from tui.traffic.http.wire import prepare
from tui.traffic.recorder.capture import Capture, Held
from tui.traffic.recorder.client import Client
from tui.traffic.recorder.exchange import Exchange
from tui.traffic.recorder.upstream import Upstreams

_BACKLOG = 4096
_AT_ONCE = 64
_OUT_OF_FILES_S = 0.2


class Proxy:
    """`done` gets every capture when its exchange has ended. Raises VtuneError when it cannot listen."""

    def __init__(
        self, host: str, port: int, upstreams: Upstreams, timeout_s: float, done: Callable[[Capture], None]
    ) -> None:
        self.clients: set[Client] = set()
        self.stopping = False
        self.held = Held()
        self.passed = 0
        self.unreadable = 0
        self._upstreams, self._timeout_s, self._done = upstreams, timeout_s, done
        self._loop = asyncio.get_running_loop()
        _raise_file_limit()
        self._socket = _listen(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._loop.add_reader(self._socket.fileno(), self._accept)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def now(self) -> int:
        return monotonic_ns()

    def exchange(self, client: Client, request: RequestParser, at: int) -> Exchange:
        self.passed += 1
        capture = Capture(request, at, self.held, self._done)
        return Exchange(client, request, self._upstreams, capture, self._timeout_s)

    def refused(self, words: str) -> None:
        """Somebody sent what is no HTTP request."""
        self.unreadable += 1

    @property
    def in_flight(self) -> int:
        return sum(client.exchange is not None for client in self.clients)

    def stop_listening(self) -> None:
        """Accept nobody, end idle connections; what is in flight goes on."""
        self.stopping = True
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        for client in tuple(self.clients):
            client.close_if_idle()

    def close(self) -> None:
        """End everything that is in flight."""
        for client in tuple(self.clients):
            client.close()
        self._upstreams.close()

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                sock, _ = self._socket.accept()
                prepare(sock)
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError:  # out of file descriptors: those who wait are accepted when some are free again
                self._loop.remove_reader(self._socket.fileno())
                self._loop.call_later(_OUT_OF_FILES_S, self._accept_again)
                return
            self.clients.add(Client(sock, self))

    def _accept_again(self) -> None:
        if not self.stopping:
            self._loop.add_reader(self._socket.fileno(), self._accept)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            sock.listen(_BACKLOG)
            sock.setblocking(False)
        except BaseException:
            sock.close()
            raise
        return sock
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise VtuneError(f"can't listen on {host}:{port}: {what}", "choose another address with --listen") from error


def _raise_file_limit() -> None:
    """A stream takes two descriptors, and the usual soft limit is 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
