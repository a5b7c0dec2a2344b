"""Rows from traces that tell only lengths and hash ids: no token is made up for them."""

from collections.abc import Hashable, Iterator
from hashlib import blake2b
from typing import Any

from tui.errors import VtuneError
from tui.traffic.inspect.rows import Row
from tui.traffic.recording import Request

DEFAULT_BLOCK = 16  # vLLM's own, but on a CPU

def is_hashed(request: Request) -> bool:
    """Whether the source told this request's length instead of its text."""
    return isinstance(request.extra.get("prompt_tokens"), int) and not _text(request.body)


def _text(body: dict[str, Any]) -> bool:
    prompt = body.get("prompt")
    return bool(body.get("messages")) or isinstance(prompt, str)


def source_block(request: Request) -> int | None:
    """Tokens that one hash id stands for."""
    size = request.extra.get("block_size")
    return size if isinstance(size, int) and size > 0 else None


def unit(request: Request, block_size: int) -> int:
    """Tokens that a row's block stands for: the larger of the engine's and the source's."""
    return max(block_size, source_block(request) or 0)


def fitting(request: Request) -> int:
    """The engine's default block size where it fits the source's, else the source's."""
    step = source_block(request) or DEFAULT_BLOCK
    return step if step % DEFAULT_BLOCK else DEFAULT_BLOCK


def row(request: Request, block_size: int) -> Row:
    """Equal ids in one space are equal tokens. Raises VtuneError where the two block sizes do not fit."""
    tokens = int(request.extra["prompt_tokens"])
    ids, step = request.extra.get("hash_ids"), source_block(request) or block_size
    if step % block_size and block_size % step:
        what = f"a block size of {block_size} does not fit the trace's, which is {step}"
        raise VtuneError(what, f"give --block-size {step}, a divisor or a multiple of it")
    size, most = max(step, block_size), max(0, (tokens - 1) // block_size) * block_size
    kept = list(_digests(request, ids if isinstance(ids, list) else [], step, tokens, block_size))
    return Row(request.id, tokens, kept, len(kept), -(-tokens // size), size, most, request.group)


def _digests(request: Request, ids: list[Any], step: int, tokens: int, block_size: int) -> Iterator[Hashable]:
    """One for each unit with a whole block in it; what lies beyond the ids is this request's own."""
    size, known = max(step, block_size), min(len(ids) * step, tokens)
    digest = blake2b(str(request.extra.get("hash_space", "")).encode(), digest_size=8).digest()
    for start in range(0, tokens - block_size + 1, size):
        end = min(start + size, tokens)
        if end > known:
            yield (request.id, start)
            continue
        names = ids[start // step : -(-end // step)]
        digest = blake2b(digest + repr(names).encode(), digest_size=8).digest()
        yield digest
