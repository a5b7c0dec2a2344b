"""What a closed loop sends next: the first request in file order that may be sent, as soon as a place is free."""

import heapq
from collections import deque
from collections.abc import Sequence

from tui.traffic.recording import Request


class ClosedQueue:
    """`free` has when each free place became free, CLOCK_MONOTONIC ns."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self.free: deque[int] = deque()
        self.left = len(requests)
        self._requests = requests
        self._ready = [number for number, request in enumerate(requests) if request.after is None]  # in order: a heap
        self._held: dict[str, list[int]] = {}  # by the request that they follow
        for number, request in enumerate(requests):
            if request.after is not None:
                self._held.setdefault(request.after, []).append(number)

    def take(self) -> tuple[Request, int] | None:
        """The next request and when its place became free; None while there is no place or none may be sent."""
        if not self._ready or not self.free:
            return None
        self.left -= 1
        return self._requests[heapq.heappop(self._ready)], self.free.popleft()

    def answered(self, id: str) -> None:
        """What follows `id` may be sent."""
        for number in self._held.pop(id, ()):
            heapq.heappush(self._ready, number)
