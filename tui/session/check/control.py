"""The cold/warm control: the same greedy request twice on one engine, its prompt computed, then taken from the cache.

Where these two differ, so may the answers of arms that hit differently, and the lever is not to blame.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tui.traffic.recording import Request

REQUESTS = 3
TOKENS = 32  # of each answer
PROMPTS = 6000  # tokens of all prompts together: a cold one takes seconds a thousand on a CPU
TIMEOUT_S = 300.0
_OURS = ("stream", "stream_options", "max_completion_tokens", "max_tokens", "n", "cache_salt")


@dataclass(frozen=True, slots=True)
class Told:
    text: str
    cached: int | None


def choose(requests: Iterable[Request], prompt_tokens: Mapping[str, int], block_size: int | None) -> list[Request]:
    """Those with the shortest prompts that hold a block, for only whole blocks are cached."""
    fewest, left = (block_size or 16) + 1, PROMPTS
    chosen: list[Request] = []
    for request in sorted(requests, key=lambda r: (prompt_tokens.get(r.id, 0), r.id)):
        tokens = prompt_tokens.get(request.id, 0)
        if fewest <= tokens <= left and len(chosen) < REQUESTS:
            chosen.append(request)
            left -= tokens
    return chosen


async def ask(client: httpx.AsyncClient, url: str, model: str, request: Request, salt: str) -> Told:
    """One whole answer; `salt` is a name space in the prefix cache. Raises httpx.HTTPError or ValueError."""
    body = {k: v for k, v in request.body.items() if k not in _OURS}
    body |= {"model": model, "max_tokens": TOKENS, "temperature": 0, "stream": False, "cache_salt": salt}
    answer = await client.post(f"{url}{request.path}", json=body, timeout=TIMEOUT_S)
    answer.raise_for_status()
    return _read(answer.json())


def _read(row: Any) -> Told:
    try:
        choice = row["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        details = row["usage"].get("prompt_tokens_details") or {}
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("an answer without a choice") from None
    return Told(text or "", details.get("cached_tokens"))
