"""One answer as it comes: its pieces, when they came, and what a byte scan makes of them."""

from array import array
from collections.abc import Callable
from operator import itemgetter
from time import monotonic_ns

from tui.traffic.http.sse import EventSplitter
from tui.traffic.replay.learned import Learned

_NOTHING = frozenset(b'"\n')  # behind a lead: the end of an empty text, or of an event that was cut
LATE_NS = 1_000_000  # read this long after the kernel had it: what came meanwhile may hide in one stamp


class Answer:
    """Collects one answer in the hot path, where nothing is split and nothing parsed that need not be.

    Read number i gave the pieces of the body up to ``cuts[i]``, at ``stamps[i]`` (CLOCK_MONOTONIC ns). `late` has the
    numbers of reads that came over LATE_NS after the kernel's stamp.
    """

    __slots__ = (
        "chunks", "cuts", "first", "kernel_reads", "last", "late", "learned", "missed", "on_content", "pieces", "sent",
        "stamps", "user_reads", "_lead", "_splitter",
    )  # fmt: skip

    def __init__(self, on_content: Callable[[int], None], learned: Learned | None = None) -> None:
        self.on_content = on_content  # told the number of content events of each read
        self.learned = learned or Learned()
        self.sent: int | None = None
        self.kernel_reads = self.user_reads = 0
        self.restart()

    def restart(self) -> None:
        """Forget what came: the request is sent again."""
        self.pieces: list[bytes] = []
        self.stamps, self.cuts = array("q"), array("q")
        self.late: set[int] = set()
        self.first: int | None = None
        self.last = self.chunks = self.missed = 0
        self._splitter = EventSplitter()
        self._lead: bytes | None = None  # what this answer's last event with text began with

    def on_sent(self, at: int) -> None:
        if self.sent is None:
            self.sent = at

    def on_body(self, pieces: list[bytes], at: int, kernel: bool) -> None:
        if kernel:
            self.kernel_reads += 1
            if monotonic_ns() - at > LATE_NS:
                self.late.add(len(self.stamps))
        else:
            self.user_reads += 1
        self.last = at
        self.pieces += pieces
        self.stamps.append(at)
        self.cuts.append(len(self.pieces))
        if found := self._count(pieces):
            if self.first is None:
                self.first = at
            self.chunks += found
            self.on_content(found)

    def _count(self, pieces: list[bytes]) -> int:
        """How many events with content the pieces ended. Where most are alike, only the others are looked at singly."""
        begin, end, found = 0, len(pieces), 0
        if end == 1 and self._lead is not None and self._splitter.between and _each_one(pieces, self._lead):
            return 1
        while self._lead is None and begin < end:
            found += self._scan(pieces[begin])
            begin += 1
        if (lead := self._lead) is None or not self._splitter.between:
            return found + self._scan(b"".join(pieces[begin:]))
        size = len(lead)
        while end > begin and not _begins(pieces[end - 1], lead, size):
            end -= 1
        alike, rest = pieces[begin:end], pieces[end:]
        if alike:
            found += end - begin if _each_one(alike, lead) else self._scan(b"".join(alike))
        return found + self._scan(b"".join(rest)) if rest else found

    def _scan(self, data: bytes) -> int:
        found, scan, lead = 0, self.learned.scan, self._lead
        for event in self._splitter.feed(data):
            if scan.has_content(event):
                found += 1
                if lead is None or not event.startswith(lead):
                    self._lead = lead = scan.lead(event)
        return found


def _begins(piece: bytes, lead: bytes, size: int) -> bool:
    return piece.startswith(lead) and piece[size : size + 1] not in (b"", b'"', b"\n")


def _each_one(pieces: list[bytes], lead: bytes) -> bool:
    """Whether each piece is one event with content: begins with `lead`, goes on with a text, and is too short for two.

    Mostly it is so, and what is done for each piece is what reading costs: in order, all that lie between the first
    and the last begin as these do.
    """
    size = len(lead)
    try:
        begin_text = set(map(itemgetter(size), pieces))
    except IndexError:
        return False
    return (
        begin_text.isdisjoint(_NOTHING)
        and min(pieces).startswith(lead)
        and max(pieces).startswith(lead)
        and max(map(len, pieces)) < 2 * size
        and pieces[-1].endswith(b"\n\n")
    )
