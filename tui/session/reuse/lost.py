"""Prefixes that were computed earlier in the run, and gone when a later prompt asked for them again.

The engine says with each answer how many prompt tokens it found cached. What is known to have been computed before
the request was sent, and was not found, is lost; where the pool had by then given out more blocks than it has, to
eviction. An engine tells evictions only as a histogram, never which prefix it was.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tui.session.reuse.served import Served

MOST = 5  # prefixes that are named
SOON = 2  # pools: so many of its blocks given out in between, and twice the pool would have kept the prefix


@dataclass(slots=True)
class _Use:
    """The last use of a block so far."""

    ready_s: float
    by: str
    end_s: float
    given: int  # blocks that the pool had given out by then


@dataclass(slots=True)
class Prefix:
    """A prefix that was evicted and asked for again. `place` and `start` say where its lost part begins."""

    place: int
    start: int  # tokens
    tokens: int = 0  # lost, over all askings
    asked_by: list[str] = field(default_factory=list)
    last_used_by: str = ""
    idle_s: list[float] = field(default_factory=list)
    between_tokens: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "asked_by": self.asked_by,
            "last_used_by": self.last_used_by,
            "lost_tokens": self.tokens,
            "idle_s": round(min(self.idle_s), 3),
            "between_tokens": min(self.between_tokens),
            "quote": None,
        }


@dataclass(slots=True)
class Lost:
    """Sums in tokens: `seen` was computed before, `found` of it was cached, `evicted` was gone, `soon` of that soon."""

    seen: int = 0
    found: int = 0
    evicted: int = 0
    soon: int = 0
    requests: int = 0
    unexplained: int = 0  # gone though the pool had never been full, or while a request still held it
    prefixes: dict[Hashable, Prefix] = field(default_factory=dict)

    @property
    def worst(self) -> list[Prefix]:
        return sorted(self.prefixes.values(), key=lambda prefix: -prefix.tokens)[:MOST]


def lost(
    requests: Iterable[Served], block_size: int, pool_tokens: int | None, empty_at_start: bool, computed_again: int = 0
) -> Lost:
    """`pool_tokens`: of one engine. Not known, or a pool that was not empty at first: every loss counts as eviction.

    `computed_again`: matched blocks at the end that the engine computes again by design, see `study`.
    """
    found = Lost()
    uses: dict[Hashable, _Use] = {}
    usable = None if pool_tokens is None else pool_tokens // block_size - 1  # vLLM sets one block aside
    given = 0
    for one in requests:
        seen = max(0, _seen(one, uses) - computed_again)
        found.seen += seen * block_size
        found.found += min(seen, one.hits) * block_size
        given += one.taken
        if seen > one.hits:
            full = usable is None or not empty_at_start or given > usable
            _note(found, one, seen, uses[one.row.kept[one.hits]], given, block_size, usable, full)
        for digest in one.row.kept:
            before = uses.get(digest)
            ready = one.ready_s if before is None else min(before.ready_s, one.ready_s)
            uses[digest] = _Use(ready, one.id, one.end_s, given)
    return found


def _seen(one: Served, uses: dict[Hashable, _Use]) -> int:
    """How many leading blocks were computed before it was sent."""
    for count, digest in enumerate(one.row.kept[: one.row.looked]):
        use = uses.get(digest)
        if use is None or use.ready_s > one.sent_s:
            return count
    return one.row.looked


def _note(
    found: Lost, one: Served, seen: int, last: _Use, given: int, block_size: int, usable: int | None, full: bool
) -> None:
    tokens = (seen - one.hits) * block_size
    if not full or last.end_s > one.sent_s:
        found.unexplained += tokens
        return
    between = max(0, given - one.taken - last.given)
    found.evicted += tokens
    found.requests += 1
    found.soon += tokens if usable is None or between <= SOON * usable else 0
    prefix = found.prefixes.setdefault(one.row.kept[one.hits], Prefix(one.place, one.hits * block_size))
    prefix.tokens += tokens
    prefix.asked_by.append(one.id)
    prefix.last_used_by = last.by
    prefix.idle_s.append(one.sent_s - last.end_s)
    prefix.between_tokens.append(between * block_size)
