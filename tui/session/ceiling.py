"""The most that a recording could reach as prefix hit rate, from the engine's own tokens."""

import asyncio
from dataclasses import dataclass, field

import httpx

from tui.engine.launch import Launch
from tui.traffic.inspect import turns
from tui.traffic.prefix import analyse
from tui.traffic.recording import Recording, Request

MOST = 500  # requests; above, the counting would delay the run
AT_ONCE = 4

Tokens = tuple[tuple[int, ...], ...]


@dataclass
class Ceilings:
    """Token ids per recording and model, asked from the engine's ``/tokenize`` once."""

    _tokens: dict[tuple[str, str, int], Tokens | None] = field(default_factory=dict)

    async def of(
        self, client: httpx.AsyncClient, launch: Launch, recording: Recording, total: int, block_size: int | None,
        loop: int = 1,
    ) -> float | None:  # fmt: skip
        """Hit rate 0..1 with an unbounded cache at this block size, when the first `total` are sent `loop` times; None
        where it can't be known."""
        tokens = await self.tokens(client, launch, recording, total)
        if block_size is None or tokens is None:
            return None
        prompts = turns.prompts(recording.requests[:total], tokens)
        return analyse(prompts * loop, block_size).ceiling

    async def tokens(
        self, client: httpx.AsyncClient, launch: Launch, recording: Recording, total: int
    ) -> Tokens | None:
        """Those of the first `total` prompts; None where the engine does not tell, or they are too many."""
        if total > MOST:
            return None
        key = (recording.sha256, launch.model, total)
        if key not in self._tokens:
            self._tokens[key] = await _tokenize(client, launch, recording.requests[:total])
        return self._tokens[key]


async def _tokenize(client: httpx.AsyncClient, launch: Launch, requests: tuple[Request, ...]) -> Tokens | None:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(request: Request) -> tuple[int, ...]:
        keys = (
            "messages",
            "prompt",
            "tools",
            "chat_template_kwargs",
            "add_generation_prompt",
            "continue_final_message",
        )
        body = {k: request.body[k] for k in keys if k in request.body} | {"model": launch.model}
        async with places:
            answer = await client.post(f"{launch.url}/tokenize", json=body, timeout=60)
        answer.raise_for_status()
        return tuple(answer.json()["tokens"])

    try:
        return tuple(await asyncio.gather(*(one(request) for request in requests)))
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None
