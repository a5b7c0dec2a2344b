"""What goes from the proxy to the scribe: one exchange after another, each whole or not at all."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class Noted:
    """One exchange as it passed. Times are CLOCK_MONOTONIC ns, `origin` that of the recording's start.

    `reads` has the time and length of every piece of `answer`. `how` is "whole", or how it was cut short.
    `credentials` are there only to be kept off the disk.
    """

    path: str
    origin: int
    at: int
    end: int
    how: str
    status: int | None
    type: str
    coding: str
    reads: list[tuple[int, int]]
    answer_dropped: bool
    credentials: tuple[str, ...]
    body: bytes
    answer: bytes


def pack(meta: dict[str, Any], body: list[bytes], answer: list[bytes]) -> bytes:
    """The frame of an exchange; `meta` has the fields of Noted that are not bytes."""
    head = json.dumps(meta, separators=(",", ":")).encode()
    sizes = b"%d %d %d\n" % (len(head), sum(map(len, body)), sum(map(len, answer)))
    return b"".join((sizes, head, *body, *answer))


def unpack(file: IO[bytes]) -> Iterator[Noted]:
    """Every whole frame until the end; one that was cut is left out."""
    while sizes := file.readline():
        if not sizes.endswith(b"\n"):
            return
        head, body, answer = (file.read(int(size)) for size in sizes.split())
        if [len(head), len(body), len(answer)] != [int(size) for size in sizes.split()]:
            return
        meta = json.loads(head)
        meta["credentials"] = tuple(meta["credentials"])
        yield Noted(**meta, body=body, answer=answer)
