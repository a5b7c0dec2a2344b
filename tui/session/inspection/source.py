"""Where an inspection gets tokens, block size and KV pool from: an engine, a profile, or nothing."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tui.engine import applied, command, install, model_make, tokenizer
from tui.engine import kv_size as kv
from tui.engine.settings import Profile
from tui.errors import Exit, VtuneError
from tui.session import attach
from tui.traffic.inspect import characters
from tui.traffic.inspect.counted import PROMPT_KEYS, Count
from tui.traffic.inspect.hashed import DEFAULT_BLOCK
from tui.traffic.recording import Request

CPU_BLOCK = 128
AT_ONCE = 4


@dataclass
class Facts:
    """What an inspection works with; `per_token` is None where tokens are exact."""

    count: Count
    tokens: str = "characters"
    per_token: float | None = characters.PER_TOKEN
    block_size: int | None = None
    kv_tokens: int | None = None
    notes: list[str] = field(default_factory=list)


def by_characters() -> Facts:
    note = f"no engine and no profile: a token is taken as {characters.PER_TOKEN} characters, and tools come first"
    return Facts(characters.tokens, notes=[note])


@contextmanager
def of_profile(profile: Profile, say: Any) -> Iterator[Facts]:
    """The model's own tokenizer; nothing is started. Raises VtuneError (exit 3) without vLLM or the model."""
    found = install.find(profile.engine.python)
    model_make.ensure_for(profile, found, say)
    around = command.surroundings(profile, found)
    asked = around.values.get("block-size", "auto")
    block = int(asked) if asked.isdigit() else CPU_BLOCK if around.cpu else DEFAULT_BLOCK
    pool = kv.tokens(profile, around, block)
    notes = [] if asked.isdigit() else [f"block size {block} is vLLM's default on this device"]
    notes += [] if pool is None else [f"the KV pool of {pool:,} tokens is worked out from the profile and the model"]
    if around.values.get("prefix-caching") == "off":
        notes.append("the profile has prefix caching off: nothing of this is reused as it stands")
    with tokenizer.opened(profile, found.python) as words:
        def count(requests: Sequence[Request]) -> list[Sequence[int]]:
            return list(words.ids([_body(request) for request in requests]))

        yield Facts(count, "exact", None, block, pool, notes)


async def of_engine(url: str) -> tuple[str, applied.Applied]:
    """(model, what it runs) of the engine at `url`. Raises VtuneError (exit 3)."""
    async with httpx.AsyncClient(trust_env=False, timeout=15.0, headers=_key()) as client:
        launch = await attach.find(client, url)
        return launch.model, await applied.read(launch.url, {}, client, launch.model)


@contextmanager
def of_url(url: str, model: str, runs: applied.Applied) -> Iterator[Facts]:
    """The engine's own ``/tokenize``."""
    base = attach.normalised(url)
    with httpx.Client(trust_env=False, timeout=60.0, headers=_key()) as client:
        def one(request: Request) -> Sequence[int]:
            return _asked(client, base, {**_body(request), "model": model})

        def count(requests: Sequence[Request]) -> list[Sequence[int]]:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                return list(pool.map(one, requests))

        yield Facts(count, "exact", None, runs.block_size, runs.kv_cache_tokens)


def _asked(client: httpx.Client, base: str, body: dict[str, Any]) -> Sequence[int]:
    if isinstance(body.get("prompt"), list):
        return body["prompt"]
    try:
        answer = client.post(f"{base}/tokenize", json=body)
    except httpx.HTTPError as error:
        raise VtuneError(f"no answer from {base}/tokenize: {type(error).__name__}", "is the engine still up?",
                         Exit.ENGINE) from error  # fmt: skip
    try:
        tokens = answer.json()["tokens"]
    except (ValueError, KeyError, TypeError):
        raise VtuneError(f"{base}/tokenize answers HTTP {answer.status_code}: {answer.text[:120]}",
                         "leave --url out to count characters instead", Exit.ENGINE) from None  # fmt: skip
    return tokens


def _body(request: Request) -> dict[str, Any]:
    return {key: request.body[key] for key in PROMPT_KEYS if key in request.body}


def _key() -> dict[str, str] | None:
    key = os.environ.get(attach.API_KEY)
    return {"Authorization": f"Bearer {key}"} if key else None
