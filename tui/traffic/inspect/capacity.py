"""What a KV pool of a given size lets a recording reuse.

The order of eviction is vLLM's (vllm/v1/core/block_pool.py and single_type_kv_cache_manager.py, 0.32): blocks that
were never filled go first, then the least recently freed; of one request the last block goes first. One block
of the pool is set aside. Requests are served one after another, as if each had ended before the next began.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence

from tui.traffic.inspect.rows import Row, Share

STEPS = 7  # at most, each at least a doubling


class Pool:
    """A pool of `blocks` KV blocks, with the free ones in the order in which they are taken."""

    def __init__(self, blocks: int) -> None:
        self.usable = max(0, blocks - 1)
        self._fresh = self.usable  # never taken
        self._free: OrderedDict[int, None] = OrderedDict()
        self._of: dict[int, Hashable] = {}  # block -> digest of what it holds
        self._holding: dict[Hashable, int | dict[int, None]] = {}  # most digests are in one block alone
        self._empty: list[int] = []  # taken once, but for a block that was not filled

    def serve(self, row: Row) -> int | None:
        """How many leading blocks of `row` are still there; None where it does not fit into the pool."""
        if row.size > self.usable:
            return None
        held = self._hit(row)
        hits = len(held)
        for _ in range(row.size - hits):
            held.append(self._take())
        for block, digest in zip(held[hits:], row.kept[hits:], strict=False):
            self._of[block] = digest
            self._hold(digest, block)
        self._give_back(held)
        return hits

    def _hit(self, row: Row) -> list[int]:
        held: list[int] = []
        for digest in row.kept[: row.looked]:
            blocks = self._holding.get(digest)
            if blocks is None:
                break
            block = blocks if isinstance(blocks, int) else next(iter(blocks))
            del self._free[block]
            held.append(block)
        return held

    def _take(self) -> int:
        if self._empty:
            return self._empty.pop()
        if self._fresh:
            self._fresh -= 1
            return self._fresh
        block, _ = self._free.popitem(last=False)
        digest = self._of.pop(block)
        blocks = self._holding[digest]
        if not isinstance(blocks, int):
            del blocks[block]
        if not blocks or isinstance(blocks, int):
            del self._holding[digest]
        return block

    def _hold(self, digest: Hashable, block: int) -> None:
        blocks = self._holding.setdefault(digest, block)
        if isinstance(blocks, dict):
            blocks[block] = None
        elif blocks != block:
            self._holding[digest] = {blocks: None, block: None}

    def _give_back(self, held: list[int]) -> None:
        for block in reversed(held):
            if block in self._of:
                self._free[block] = None
            else:
                self._empty.append(block)


class Measured:
    """The hit rate that a pool of `kv_tokens` gives to the rows it is fed."""

    def __init__(self, kv_tokens: int, unit: int) -> None:
        self.kv_tokens = kv_tokens
        self.too_long = 0
        self._pool = Pool(kv_tokens // unit)
        self._share = Share()

    def serve(self, row: Row) -> None:
        hits = self._pool.serve(row)
        if hits is None:
            self.too_long += 1
        else:
            self._share.add(row, row.reusable(hits))

    def serve_all(self, rows: Iterable[Row]) -> None:
        """Then nothing more: the pool's memory is given back."""
        for row in rows:
            self.serve(row)
        self._pool = Pool(0)

    @property
    def hit_rate(self) -> float | None:
        return self._share.rate


def measured(rows: Iterable[Row], sizes: Sequence[int], unit: int) -> list[Measured]:
    """One for each of `sizes` (tokens); the rows' blocks have `unit` tokens. Rows in a list serve one pool after
    another, whose blocks are then not in memory together."""
    pools = [Measured(size, unit) for size in sizes]
    if isinstance(rows, list):
        for pool in pools:
            pool.serve_all(rows)
        return pools
    for one in rows:
        for pool in pools:
            pool.serve(one)
    return pools


def sizes(longest: int, distinct: int, unit: int, known: int | None) -> list[int]:
    """Pool sizes in tokens that show where reuse is lost, in even steps of size: from what the longest request
    needs to what holds everything, both in blocks, and the engine's own where it is `known`."""
    low, high = max(2, longest + 1), max(distinct, longest) + 1
    steps = min(STEPS, max(1, (high // low).bit_length() - 1))
    found = {round(low * (high / low) ** (n / steps)) for n in range(steps + 1)} | {high}
    return sorted({count * unit for count in found} | ({known} if known else set()))
