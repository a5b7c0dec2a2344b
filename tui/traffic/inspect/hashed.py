"""Rows from traces that tell only lengths and hash ids: no token is made up for them."""

from collections.abc import Hashable
from hashlib import blake2b
from typing import Any

from tui.errors import VtuneError
from tui.traffic.inspect.rows import Row
from tui.traffic.recording import Request


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


def row(request: Request, block_size: int) -> Row:
    """Whole blocks of `block_size` tokens; equal ids in one space are equal tokens.

    Raises VtuneError where the engine's blocks and the source's do not fit into each other.
    """
    tokens = int(request.extra["prompt_tokens"])
    ids, step = request.extra.get("hash_ids") or (), source_block(request)
    if not isinstance(ids, list) or step is None:
        ids, step = [], block_size
    if step % block_size and block_size % step:
        what = f"a block size of {block_size} does not fit the trace's, which is {step}"
        raise VtuneError(what, f"give --block-size {step}, a divisor or a multiple of it")
    kept = _digests(request, ids, step, tokens, block_size)
    return Row(request.id, tokens, kept, max(0, (tokens - 1) // block_size), -(-tokens // block_size), request.group)


def _digests(request: Request, ids: list[Any], step: int, tokens: int, block_size: int) -> list[Hashable]:
    """One for each whole block; what lies beyond the ids is this request's own."""
    space = str(request.extra.get("hash_space", ""))
    known = min(len(ids) * step, tokens)
    digest = blake2b(space.encode(), digest_size=8).digest()
    found: list[Hashable] = []
    for start in range(0, tokens - block_size + 1, block_size):
        end = start + block_size
        if end > known:
            found += [(request.id, place) for place in range(start, tokens - block_size + 1, block_size)]
            break
        if start % step == 0:
            names = ids[start // step : -(-end // step)]
            digest = blake2b(digest + repr(names).encode(), digest_size=8).digest()
        found.append(digest if block_size >= step else (digest, start % step))
    return found
