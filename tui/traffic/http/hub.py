"""Watching many sockets at little cost: an epoll of their own inside the loop's."""

import asyncio
import select
from collections.abc import Callable
from weakref import WeakKeyDictionary

_BATCH = 16  # reads before what else is due gets its turn (about 0.2 ms)


class Hub:
    """The sockets of one loop that are watched for reading. Get it with `hub`.

    The loop's own readers cost a handle, a context and a look-up for each socket that is ready; here the loop sees one
    that is. Where there is no epoll, they are the loop's own readers.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: dict[int, Callable[[], None]] = {}
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        if self._epoll is not None:
            loop.add_reader(self._epoll.fileno(), self._ready)

    def add(self, fd: int, call: Callable[[], None]) -> None:
        """Call when `fd` is readable, until it is removed."""
        self._calls[fd] = call
        if self._epoll is None:
            self._loop.add_reader(fd, call)
        else:
            self._epoll.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        """Before the descriptor is closed; the last one takes the hub along."""
        if self._calls.pop(fd, None) is None:
            return
        if self._epoll is None:
            self._loop.remove_reader(fd)
        else:
            self._epoll.unregister(fd)
            if not self._calls:
                _HUBS.pop(self._loop, None)
                self._loop.remove_reader(self._epoll.fileno())
                self._epoll.close()

    def pending(self) -> bool:
        """Whether any of them is readable now."""
        return self._epoll is not None and bool(self._epoll.poll(0, 1))

    def _ready(self) -> None:
        assert self._epoll is not None
        calls = self._calls
        for fd, _ in self._epoll.poll(0, _BATCH):
            if (call := calls.get(fd)) is None:  # an earlier one of this batch closed it
                continue
            try:
                call()
            except Exception as error:  # noqa: BLE001 - as the loop does with its own readers
                self._loop.call_exception_handler({"message": "in a reader", "exception": error})


_HUBS: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running loop."""
    loop = asyncio.get_running_loop()
    if (found := _HUBS.get(loop)) is None:
        found = _HUBS[loop] = Hub(loop)
    return found


def pending() -> bool:
    """Whether the running loop's hub, if it has one, has something to read."""
    found = _HUBS.get(asyncio.get_running_loop())
    return found is not None and found.pending()
