"""One answer as it comes: what came, when, and how much of it has content."""

from array import array
from collections.abc import Callable
from time import monotonic_ns

from tui.traffic.http.sse import EventSplitter
from tui.traffic.replay.learned import Learned
from tui.traffic.replay.like import Like

LATE_NS = 1_000_000  # read this long after the kernel had it: what came meanwhile may hide in one stamp
_RUN = 64  # bytes that a text in a run takes


class Texts:
    """A run of events that say nothing but a text each, read already."""

    __slots__ = ("events", "reasoning", "texts")

    def __init__(self, reasoning: bool) -> None:
        self.reasoning = reasoning
        self.events = 0
        self.texts: list[str] = []


class Answer:
    """Collects one answer in the hot path, where nothing is parsed that need not be.

    `items` are the pieces of the body in their order, and runs of `Texts` for pieces that are events like one that was
    parsed before. Read number i gave the pieces up to ``cuts[i]``, counting every event of a run, at ``stamps[i]``
    (CLOCK_MONOTONIC ns). `late` has the numbers of reads that came over LATE_NS after the kernel's stamp.
    """

    __slots__ = (
        "chunks", "cuts", "first", "items", "kernel_reads", "last", "late", "learned", "missed", "on_content", "sent",
        "stamps", "user_reads", "_like", "_splitter",
    )  # fmt: skip

    def __init__(self, on_content: Callable[[int], None], learned: Learned | None = None) -> None:
        self.on_content = on_content  # told the number of content events of each read
        self.learned = learned or Learned()
        self.sent: int | None = None
        self.kernel_reads = self.user_reads = 0
        self.restart()

    def restart(self) -> None:
        """Forget what came: the request is sent again."""
        self.items: list[bytes | Texts] = []
        self.stamps, self.cuts = array("q"), array("q")
        self.late: set[int] = set()
        self.first: int | None = None
        self.last = self.chunks = self.missed = 0
        self._splitter = EventSplitter()  # of what is not in runs
        self._like: Like | None = None

    @property
    def size(self) -> int:
        """About how many bytes of it are held."""
        return sum(len(it) if isinstance(it, bytes) else _RUN * len(it.texts) for it in self.items)

    @property
    def body(self) -> bytes:
        """Of an answer that is no stream of events, what came."""
        return b"".join(it for it in self.items if isinstance(it, bytes))

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
        self.stamps.append(at)
        self.cuts.append((self.cuts[-1] if self.cuts else 0) + len(pieces))
        if found := self._take(pieces):
            if self.first is None:
                self.first = at
            self.chunks += found
            self.on_content(found)

    def _take(self, pieces: list[bytes]) -> int:
        """Keep the pieces; how many events with content they ended."""
        if len(pieces) == 1 and (like := self._like) is not None and self._splitter.between:  # the most frequent case
            if (text := like.one(pieces[0])) is not None:
                self._keep(like, text, 1)
                return 1
        place, found, at_once = 0, 0, True
        while place < len(pieces):
            taken = 0
            if (like := self._like) is not None and self._splitter.between:
                rest = pieces[place:] if place else pieces
                if at_once:
                    taken = self._run(like, rest)
                    at_once = bool(taken)
                if not taken and len(rest) > 1:
                    taken = self._run(like, rest[:1])
            if not taken:
                self.items.append(pieces[place])
                found += self._scan(pieces[place])
            place += taken or 1
            found += taken
        return found

    def _run(self, like: Like, pieces: list[bytes]) -> int:
        """How many of the pieces, from the first on, were taken as texts: an answer's last ones are others."""
        end, count = like.end, len(pieces)
        while count and not pieces[count - 1].endswith(end):
            count -= 1
        if not count or (text := like.read(pieces[:count] if count < len(pieces) else pieces)) is None:
            return 0
        self._keep(like, text, count)
        return count

    def _keep(self, like: Like, text: str, events: int) -> None:
        last = self.items[-1]
        if isinstance(last, bytes) or last.reasoning is not like.reasoning:
            last = Texts(like.reasoning)
            self.items.append(last)
        last.texts.append(text)
        last.events += events

    def _scan(self, piece: bytes) -> int:
        found, learned, like = 0, self.learned, self._like
        for event in self._splitter.feed(piece):
            if learned.scan.has_content(event):
                found += 1
                if like is None or not event.startswith(like.before):
                    self._like = like = learned.shapes.like(event) or like
        return found
