"""What vtune knows about a format that it imports."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tui.traffic.importers.found import Found, Skip, Told
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source

Rows = Iterator[Found | Skip | Told]


@dataclass(frozen=True, slots=True)
class Format:
    """`matches` gives the reason for which a file is taken for this format, None if it is not.

    `unit` is the format's own unit of time; `chain` says that the requests of a session follow each other;
    `block` is how many tokens one of its hash ids stands for.
    """

    name: str
    what: str
    matches: Callable[[Sniffed], str | None]
    rows: Callable[[Source], Rows]
    unit: str | None = None
    chain: bool = False
    links_by_answer: bool = False
    block: int | None = None
    lacks: tuple[str, ...] = ()
    rules_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dated: bool = True  # False where the times have no year


def by_object(read: Callable[[int, dict[str, Any]], Rows]) -> Callable[[Source], Rows]:
    """Rows of a file of JSON objects, each read by itself."""

    def rows(source: Source) -> Rows:
        for item in source.objects():
            if isinstance(item, Skip):
                yield item
            else:
                yield from read(*item)

    return rows


def by_either(read: Callable[[int, dict[str, Any]], Rows]) -> Callable[[Source], Rows]:
    """Rows of a file of JSON objects, or of a table with the same names."""

    def rows(source: Source) -> Rows:
        return (by_object if source.head().lstrip()[:1] in (b"{", b"[") else by_row)(read)(source)

    return rows


def by_row(read: Callable[[int, dict[str, str]], Rows]) -> Callable[[Source], Rows]:
    """Rows of a CSV file with a header."""

    def rows(source: Source) -> Rows:
        for item in source.table():
            if isinstance(item, Skip):
                yield item
            else:
                yield from read(*item)

    return rows
