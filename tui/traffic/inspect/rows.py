"""Requests as the prefix cache sees them: chains of whole KV blocks."""

from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from tui.traffic.prefix import Prompt, block_digests


@dataclass(frozen=True, slots=True)
class Row:
    """One request. A digest stands for its block and for everything before it.

    `kept` are the whole blocks that stay after it, of the prompt and of what was generated; the first
    `looked` of them are looked up, for the prompt's last token is always computed. `size` is how many
    blocks it holds while it runs. `most` is what it can reuse at most, in tokens. A trace of hash ids has
    them for blocks: of `unit` tokens each, of which the engine has several in one.
    """

    id: str
    tokens: int
    kept: Sequence[Hashable]
    looked: int
    size: int
    unit: int
    most: int
    group: str | None = None

    def reusable(self, hits: int) -> int:
        """Tokens in its first `hits` blocks, as far as they are reused."""
        return min(hits * self.unit, self.most)


def row(prompt: Prompt, block_size: int, group: str | None = None) -> Row:
    tokens = len(prompt.tokens)
    # The last token generated is never fed back, so that it has no KV entry.
    held = array("q", prompt.tokens)
    held.extend(prompt.answer[:-1])
    # Eight bytes of a digest tell blocks apart, and a long recording has millions.
    kept = array("Q", b"".join(digest[:8] for digest in block_digests(held, block_size, prompt.cache_salt)))
    looked = max(0, (tokens - 1) // block_size)
    size = -(-len(held) // block_size)
    return Row(prompt.id, tokens, kept, looked, size, block_size, looked * block_size, group)


@dataclass(slots=True)
class Share:
    """Sums over requests, in tokens."""

    requests: int = 0
    prompt_tokens: int = 0
    reusable_tokens: int = 0
    first: Sequence[Hashable] | None = None
    common: int = 0  # leading blocks that all of them have

    def add(self, row: Row, reusable: int) -> None:
        self.requests += 1
        self.prompt_tokens += row.tokens
        self.reusable_tokens += reusable
        if self.first is None:
            self.first, self.common = row.kept[: row.looked], row.looked
        self.common = same(self.first, row.kept[: min(row.looked, self.common)])

    @property
    def rate(self) -> float | None:
        """0 to 1; None without prompt tokens."""
        return self.reusable_tokens / self.prompt_tokens if self.prompt_tokens else None


def same(one: Sequence[object], other: Sequence[object]) -> int:
    """How many leading members are equal."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))


class Endless:
    """A cache that never evicts: what it gives is the most that any cache could, in this order."""

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()

    def serve(self, row: Row) -> int:
        """How many leading blocks of `row` are there; then all of its own are."""
        hits = 0
        while hits < row.looked and row.kept[hits] in self._seen:
            hits += 1
        self._seen.update(row.kept[hits:])
        return hits

    def __len__(self) -> int:
        return len(self._seen)


def ceiling(rows: Iterable[Row]) -> float | None:
    """The highest hit rate of these requests in this order, 0 to 1; None without prompt tokens."""
    cache, share = Endless(), Share()
    for one in rows:
        share.add(one, one.reusable(cache.serve(one)))
    return share.rate
