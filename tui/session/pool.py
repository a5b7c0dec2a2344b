"""One engine's KV pool: what it holds, and what it would hold with another setting. Arithmetic, no measuring."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tui.engine.kv_size import whole_blocks
from tui.session.state import EngineRecord, State

BLOCKS = (16, 32, 64, 128)
CPU_MULTIPLE = 32  # a CPU's block size is a multiple of it


@dataclass(frozen=True, slots=True)
class Pool:
    """`tokens` is of one engine; `size` its bytes, where the engine says them; `each` the bytes a token takes."""

    tokens: int
    block_size: int
    dtype: str
    size: int | None
    parts: Mapping[str, Mapping[str, int]]  # target, draft -> KV dtype -> bytes a token
    cpu: bool
    avx512: bool | None = None  # of the CPU; None: not known

    @property
    def blocks(self) -> int:
        return self.tokens // self.block_size

    @property
    def usable(self) -> int:
        """vLLM sets one block aside (vllm/v1/core/block_pool.py)."""
        return max(0, self.blocks - 1)

    @property
    def each(self) -> int | None:
        return token_bytes(self.parts, self.dtype)

    @property
    def bytes(self) -> int | None:
        """Where the engine says no size, the least that its tokens take."""
        return self.size if self.size is not None else None if self.each is None else self.tokens * self.each

    def longest(self, at_once: int, most: int | None) -> int:
        """How many tokens each of so many sequences may have; `most` is the model's own limit."""
        fit = self.usable // max(1, at_once) * self.block_size
        return fit if most is None else min(fit, most)

    def with_dtype(self, dtype: str) -> int | None:
        each = token_bytes(self.parts, dtype)
        return None if each is None or self.bytes is None else whole_blocks(self.bytes, each, self.block_size)

    def with_block(self, block_size: int) -> int | None:
        return None if self.each is None or self.bytes is None else whole_blocks(self.bytes, self.each, block_size)

    def without_draft(self) -> int | None:
        """None too where there is no draft."""
        each = token_bytes({"target": self.parts.get("target", {})}, self.dtype)
        if "draft" not in self.parts or each is None or self.bytes is None:
            return None
        return whole_blocks(self.bytes, each, self.block_size)

    def alternatives(self) -> list[dict[str, Any]]:
        """What other settings would hold, in the words of --set."""
        dtype = "auto" if self.dtype.startswith("fp8") else "fp8"
        possible = dtype == "auto" or not self.cpu or self.avx512 is not False  # see the rule fp8-on-cpu
        blocks = [b for b in BLOCKS if b != self.block_size and (b % CPU_MULTIPLE == 0 or not self.cpu)]
        rows = [("kv-dtype", dtype, self.with_dtype(dtype) if possible else None)]
        rows += [("block-size", str(block), self.with_block(block)) for block in blocks]
        return [{"lever": name, "value": value, "tokens": tokens} for name, value, tokens in rows if tokens is not None]


def token_bytes(parts: Mapping[str, Mapping[str, int]], dtype: str) -> int | None:
    """Of the model and its draft together; fp8 of any kind takes the same."""
    key = "fp8" if dtype.startswith("fp8") else dtype
    found = [by_dtype.get(key) for by_dtype in parts.values()]
    return sum(each for each in found if each is not None) if found and None not in found else None


def pool_of(engine: EngineRecord | None) -> Pool | None:
    """As the engine tells it; None where it does not."""
    if engine is None or not engine.kv_cache_tokens or not engine.block_size:
        return None
    told = engine.scrape.cache_config if engine.scrape else {}
    size = told.get("kv_cache_memory_bytes", "")
    return Pool(
        tokens=engine.kv_cache_tokens // max(1, engine.engines),
        block_size=engine.block_size,
        dtype=told.get("cache_dtype") or engine.applied.get("kv-dtype") or "auto",
        size=int(size) if size.isdigit() else None,
        parts=engine.kv_bytes,
        cpu=(engine.device or "").upper().startswith("CPU"),
        avx512=engine.install.get("avx512"),
    )


def draft_cost(engine: EngineRecord | None) -> int | None:
    """Tokens of the pool that the draft's own KV cache takes; None without a draft, or where it can't be worked out."""
    pool = pool_of(engine)
    without = None if pool is None else pool.without_draft()
    return None if pool is None or without is None else without - pool.tokens


def predicted(engine: EngineRecord, before: EngineRecord) -> int | None:
    """Tokens that the pool of `before` holds at the dtype, block size and draft of `engine`.

    None where nothing of that differs, or the pool was given another size, or it can't be worked out.
    """
    ours, theirs = pool_of(engine), pool_of(before)
    if ours is None or theirs is None or ours.each is None or theirs.bytes is None:
        return None
    alike = (ours.each, ours.block_size) == (theirs.each, theirs.block_size)
    if alike or engine.applied.get("kv-pool") != before.applied.get("kv-pool"):
        return None
    return whole_blocks(theirs.bytes, ours.each, ours.block_size)


def engine_before(state: State, number: int) -> EngineRecord | None:
    """The newest engine that was started before engine `number` and told its pool."""
    earlier = [n for n, engine in state.engines.items() if n < number and engine.kv_cache_tokens]
    return state.engines[max(earlier)] if earlier else None
