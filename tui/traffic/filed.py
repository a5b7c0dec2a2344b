"""Requests whose bodies stay in the recording's file until they are sent, so that a long recording takes no memory."""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO

from tui.traffic.recording import Request, request_of


class Shelf:
    """The uncompressed lines of a recording; `place` is (offset, length) in bytes. The file is never moved from under
    it: recordings are replaced by name, and this holds the open file."""

    def __init__(self, plain: BinaryIO | None) -> None:
        """On the open `plain` file itself, or, where that is compressed, on a copy without a name."""
        self._copy = None if plain is not None else tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        self._fd = os.dup(plain.fileno()) if plain is not None else self._copy.fileno()  # type: ignore[union-attr]
        self._owned = plain is not None
        self._end = 0
        self._last: tuple[int, Request | None] = (-1, None)

    def add(self, line: bytes) -> tuple[int, int]:
        """Note the next line of the file; gives its place."""
        place = (self._end, len(line))
        self._end += len(line)
        if self._copy is not None:
            self._copy.write(line)
        return place

    def filed(self, request: Request, place: tuple[int, int]) -> "FiledRequest":
        return FiledRequest(request, self, place)

    def ready(self) -> None:
        if self._copy is not None:
            self._copy.flush()

    def read(self, place: tuple[int, int]) -> Request:
        """The whole request at `place`; the last one read is at hand."""
        offset, length = place
        if self._last[0] != offset or self._last[1] is None:
            self._last = (offset, request_of(json.loads(os.pread(self._fd, length, offset))))
        assert self._last[1] is not None
        return self._last[1]

    def __del__(self) -> None:
        if self._owned:
            os.close(self._fd)


class FiledRequest(Request):
    """A Request that reads `body`, `reply`, `redacted` and `extra` when they are asked for.

    What a run's header tells of all bodies is at hand: the `model` they name, and whether they asked to be `streamed`.
    """

    __slots__ = ("_place", "_shelf", "model", "streamed")

    def __init__(self, request: Request, shelf: Shelf, place: tuple[int, int], **changed: Any) -> None:
        for name in ("id", "at", "path", "group", "after", "think_s"):
            object.__setattr__(self, name, changed.get(name, getattr(request, name)))
        known = isinstance(request, FiledRequest)
        model = request.model if known else sys.intern(str(request.body.get("model")))
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "streamed", request.streamed if known else request.body.get("stream") is True)
        object.__setattr__(self, "_shelf", shelf)
        object.__setattr__(self, "_place", place)

    body = property(lambda self: self._shelf.read(self._place).body)
    reply = property(lambda self: self._shelf.read(self._place).reply)
    redacted = property(lambda self: self._shelf.read(self._place).redacted)
    extra = property(lambda self: self._shelf.read(self._place).extra)

    def again(self, number: int, later_s: float) -> "FiledRequest":
        """The same in pass `number` of a loop, `later_s` after its recorded time."""
        after = None if self.after is None else pass_id(self.after, number)
        return FiledRequest(
            self, self._shelf, self._place, id=pass_id(self.id, number), at=self.at + later_s, after=after
        )


def passes(requests: Sequence[FiledRequest], loop: int) -> Sequence[FiledRequest]:
    """The requests `loop` times over; each pass begins one mean gap after the last request of the one before."""
    if loop == 1 or not requests:
        return requests
    times = [request.at for request in requests]
    span = max(times) - min(times)
    every = span + (span / (len(requests) - 1) if span else 0.0)
    later = (request.again(n, (n - 1) * every) for n in range(2, loop + 1) for request in requests)
    return [*requests, *later]


def pass_id(id: str, number: int) -> str:
    """The id of a request in pass `number` (from 1) of a loop; the first keeps its own."""
    return id if number == 1 else f"{id}~{number}"
