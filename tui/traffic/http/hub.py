"""Watching many sockets at little cost: an epoll of their own inside the loop's."""

import asyncio
import select
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

_BATCH = 16  # reads before what else is due gets its turn (about 0.2 ms)
_HASTY = 1024  # that are only read, and looked at afterwards: 5 us each

Later = list[tuple[Callable[..., None], tuple[Any, ...]]]  # what is to be called when the hastened ones are read
Reader = Callable[[Later | None], None]


class Hub:
    """The sockets of one loop that are watched for reading. Get it with `hub`.

    The loop's own readers cost a handle, a context and a look-up for each socket that is ready; here the loop sees one
    that is. Where there is no epoll, they are the loop's own readers. Those that were hastened are read before the
    others, and all of them before any of theirs is looked at: where more comes than can be read at once, the stamp of
    a first token is not that of the token after it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: dict[int, Reader] = {}
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        if self._epoll is not None:
            self._hasty = select.epoll()
            self._hastened: set[int] = set()
            for epoll in (self._hasty, self._epoll):
                loop.add_reader(epoll.fileno(), self._ready)

    def hasten(self, fd: int, wanted: bool) -> None:
        """Read `fd` before the others, or no more so."""
        if self._epoll is None or fd not in self._calls or wanted == (fd in self._hastened):
            return
        before, after = (self._epoll, self._hasty) if wanted else (self._hasty, self._epoll)
        before.unregister(fd)
        after.register(fd, select.EPOLLIN)
        (self._hastened.add if wanted else self._hastened.remove)(fd)

    def add(self, fd: int, call: Reader) -> None:
        """Call when `fd` is readable, until it is removed; with a list it may put there what can wait."""
        self._calls[fd] = call
        if self._epoll is None:
            self._loop.add_reader(fd, call, None)
        else:
            self._epoll.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        """Before the descriptor is closed; the last one takes the hub along."""
        if self._calls.pop(fd, None) is None:
            return
        if self._epoll is None:
            self._loop.remove_reader(fd)
        else:
            (self._hasty if fd in self._hastened else self._epoll).unregister(fd)
            self._hastened.discard(fd)
            if not self._calls:
                _HUBS.pop(self._loop, None)
                for epoll in (self._hasty, self._epoll):
                    self._loop.remove_reader(epoll.fileno())
                    epoll.close()

    def pending(self) -> bool:
        """Whether any of them is readable now."""
        return self._epoll is not None and bool(self._hasty.poll(0, 1) or self._epoll.poll(0, 1))

    def _ready(self) -> None:
        assert self._epoll is not None
        if hasty := self._hasty.poll(0, _HASTY):
            later: Later = []
            for fd, _ in hasty:
                self._read(fd, later)
            for call, words in later:
                self._guarded(call, *words)
        for fd, _ in self._epoll.poll(0, _BATCH) if not self._epoll.closed else ():
            self._read(fd, None)

    def _read(self, fd: int, later: Later | None) -> None:
        if (call := self._calls.get(fd)) is not None:  # else an earlier one of this batch closed it
            self._guarded(call, later)

    def _guarded(self, call: Callable[..., None], *words: Any) -> None:
        try:
            call(*words)
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
