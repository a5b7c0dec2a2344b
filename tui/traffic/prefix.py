"""How much of its prompts a recording could reuse, from token ids and a block size.

vLLM reuses a prompt's leading KV blocks when their tokens, and all tokens before them, are those
of an earlier request: whole blocks only, and at most ``prompt tokens - 1``, for the last token has
to be computed to sample from (vllm/v1/core/kv_cache_manager.py, get_computed_blocks). `cache_salt`
enters the hash of the first block, so each salt is a name space of its own.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b


@dataclass(frozen=True, slots=True)
class Prompt:
    """The tokens of one request, chat template applied.

    `answer` are the tokens generated after it, where known: the engine keeps their blocks too, so
    that a later turn of the conversation may reuse them.
    """

    id: str
    tokens: Sequence[int]
    cache_salt: str | None = None
    answer: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Reuse:
    """What one request could reuse; `source` is the first request that had its last reusable block."""

    id: str
    prompt_tokens: int
    reusable_tokens: int
    source: str | None

    @property
    def share(self) -> float | None:
        """Reusable part of the prompt, 0 to 1; None for a prompt without tokens."""
        return self.reusable_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The requests in the order analysed."""

    block_size: int
    requests: tuple[Reuse, ...]

    @property
    def prompt_tokens(self) -> int:
        return sum(r.prompt_tokens for r in self.requests)

    @property
    def reusable_tokens(self) -> int:
        return sum(r.reusable_tokens for r in self.requests)

    @property
    def ceiling(self) -> float | None:
        """The highest hit rate this order can reach, 0 to 1; None without prompt tokens."""
        return self.reusable_tokens / self.prompt_tokens if self.prompt_tokens else None


def analyse(prompts: Iterable[Prompt], block_size: int) -> Analysis:
    """What each prompt could reuse from those before it.

    Assumes a cache without bounds and that each request is done before the next one is looked up,
    which makes the ceiling a bound for requests served in this order. Raises ValueError on a block
    size under 1.
    """
    if block_size < 1:
        raise ValueError(f"block size {block_size} is under 1")
    first_with: dict[bytes, str] = {}
    requests = []
    for prompt in prompts:
        requests.append(_reuse(prompt, block_size, first_with))
        for digest in block_digests([*prompt.tokens, *_kept(prompt)], block_size, prompt.cache_salt):
            first_with.setdefault(digest, prompt.id)
    return Analysis(block_size, tuple(requests))


def block_digests(tokens: Sequence[int], block_size: int, cache_salt: str | None = None) -> list[bytes]:
    """A digest for each whole block of `tokens`, which also stands for all tokens before it and the salt."""
    digest = b"" if cache_salt is None else blake2b(cache_salt.encode(), digest_size=16).digest()
    digests, held = [], array("q", tokens)
    size = block_size * held.itemsize
    data = held.tobytes()
    for start in range(0, len(data) - size + 1, size):
        digest = blake2b(digest + data[start : start + size], digest_size=16).digest()
        digests.append(digest)
    return digests


def _reuse(prompt: Prompt, block_size: int, first_with: dict[bytes, str]) -> Reuse:
    blocks, source = 0, None
    for digest in block_digests(prompt.tokens[:-1], block_size, prompt.cache_salt):
        if digest not in first_with:
            break
        blocks, source = blocks + 1, first_with[digest]
    return Reuse(prompt.id, len(prompt.tokens), blocks * block_size, source)


def _kept(prompt: Prompt) -> Sequence[int]:
    # The last token generated is never fed back, so that it has no KV entry.
    return prompt.answer[:-1]
