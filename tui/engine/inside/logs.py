"""An engine's log kept to a bounded size: its beginning, which tells of the start, and its end; the middle goes.

The engine appends (O_APPEND) and never knows: the file is cut in place, and goes on behind what was kept. Readers
see it shrink. Stdlib only, Python 3.9 syntax: the keeper does this, also while vtune is suspended.
"""

import os
import re
from typing import Tuple

MOST = 32 << 20  # bytes; checked every LOOK_S seconds, so a log may be larger for a moment
HEAD = 2 << 20
TAIL = 6 << 20
LOOK_S = 2.0

_MARK = re.compile(rb"^--- vtune left out ([\d,]+) lines \(([\d,]+) bytes\) here.*\n", re.M)
_PIECE = 1 << 20


def bound(path: str, most: int = MOST, head: int = HEAD, tail: int = TAIL) -> int:
    """Cut the middle out of a log of over `most` bytes; the bytes that went. Raises OSError.

    What is written in the microseconds of the cut itself may be lost, too.
    """
    if os.stat(path).st_size <= most:
        return 0
    log = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        start, marked, lines, gone = _beginning(os.pread(log, head + 200, 0), head)
        end = _line_after(log, os.fstat(log).st_size - tail)
        cut = end - marked
        lines += _count(log, marked, end)
        mark = "--- vtune left out {:,} lines ({:,} bytes) here: a log keeps its beginning and its end ---\n"
        kept = mark.format(lines, gone + cut).encode() + _read(log, end)
        os.ftruncate(log, start)
        while kept:
            kept = kept[os.write(log, kept) :]
        return cut
    finally:
        os.close(log)


def left_out(path: str) -> Tuple[int, int]:
    """Lines and bytes that are not in the log any more; 0, 0 where it is whole or can't be read."""
    try:
        with open(path, "rb") as log:
            _, _, lines, gone = _beginning(log.read(HEAD + 200), HEAD)
    except OSError:
        lines = gone = 0
    return lines, gone


def _beginning(data: bytes, head: int) -> Tuple[int, int, int, int]:
    """Where the beginning that is kept ends, where the mark there does, and the lines and bytes that it tells of."""
    found = _MARK.search(data)
    if found is None:
        end = data.rfind(b"\n", 0, head) + 1 or head
        return end, end, 0, 0
    lines, gone = (int(number.replace(b",", b"")) for number in found.groups())
    return found.start(), found.end(), lines, gone


def _line_after(log: int, at: int) -> int:
    data = os.pread(log, _PIECE, at)
    return at + data.find(b"\n") + 1


def _count(log: int, start: int, end: int) -> int:
    lines = 0
    for at in range(start, end, _PIECE):
        lines += os.pread(log, min(_PIECE, end - at), at).count(b"\n")
    return lines


def _read(log: int, at: int) -> bytes:
    """To the end, also to one that moves meanwhile."""
    pieces = []
    while True:
        piece = os.pread(log, _PIECE, at)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        at += len(piece)
