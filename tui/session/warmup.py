"""What happens before a run so that cold and warm are never mixed: warm-up, cache reset, idleness."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

# A warm-up longer than this tells nothing more about readiness and costs 3 s per 2,000 tokens on a CPU.
LONGEST = 2048
AGREE = 0.10
AT_MOST = 3


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Seconds of each unrelated prompt, in order, and whether the last two agreed within 10 %."""

    seconds: tuple[float, ...]
    tokens: int
    settled: bool

    @property
    def words(self) -> str:
        times = ", ".join(f"{s:.2f} s" for s in self.seconds)
        return f"{len(self.seconds)} warm-up prompts of {self.tokens} tokens: {times}" + (
            "" if self.settled else ", not settled"
        )


async def warm_up(client: httpx.AsyncClient, url: str, model: str, tokens: int, seed: int) -> WarmUp:
    """Send unrelated prompts of `tokens` random token ids until two agree within 10 %, at most three.

    Every prompt is new, so none can hit the prefix cache. Raises httpx.HTTPError when the engine does not answer.
    """
    draw = random.Random(seed)
    seconds: list[float] = []
    while len(seconds) < AT_MOST and not _settled(seconds):
        # Ids below 1,000 exist in every tokenizer that serves text.
        prompt = [draw.randrange(100, 1000) for _ in range(tokens)]
        body = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0}
        begin = time.monotonic()
        answer = await client.post(f"{url}/v1/completions", json=body, timeout=300)
        answer.raise_for_status()
        seconds.append(time.monotonic() - begin)
    return WarmUp(tuple(round(s, 4) for s in seconds), tokens, _settled(seconds))


def _settled(seconds: Sequence[float]) -> bool:
    if len(seconds) < 2:
        return False
    last, before = seconds[-1], seconds[-2]
    return abs(last - before) <= AGREE * max(last, before)


def warm_up_length(token_budget: int | None, max_model_len: int | None) -> int:
    """Tokens of a warm-up prompt: the token budget, within the model's length and `LONGEST`."""
    longest = (max_model_len or LONGEST) - 16
    return max(16, min(token_budget or LONGEST, longest, LONGEST))


async def reset_prefix_cache(client: httpx.AsyncClient, url: str) -> bool:
    """True when vLLM said that it dropped its prefix cache.

    False without development mode (404) or while blocks are held (``{"success": false}``);
    source: vllm/entrypoints/serve/dev/cache/api_router.py.
    """
    try:
        answer = await client.post(f"{url}/reset_prefix_cache", timeout=30)
        return answer.status_code == 200 and answer.json().get("success", True) is True
    except (httpx.HTTPError, ValueError):
        return False
