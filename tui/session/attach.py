"""An engine that vtune does not own, found by its URL."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui.engine.launch import Launch
from tui.engine.settings import EngineSettings, Profile
from tui.errors import Exit, VtuneError

if TYPE_CHECKING:
    import httpx

API_KEY = "VTUNE_API_KEY"  # the environment variable that may hold the key; it is stored nowhere
RETRY_S = 3.0


async def find(client: "httpx.AsyncClient", url: str) -> Launch:
    """The engine at `url` as a Launch without a command line; the first served model is taken.

    Raises VtuneError: a bad URL (exit 2), nobody or no OpenAI server there (exit 3).
    """
    import httpx  # not before the screen's first paint

    base = normalised(url)
    try:
        answer = await client.get(f"{base}/v1/models", timeout=10)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise VtuneError(
            f"no answer from {base}: {error or type(error).__name__}",
            "is the server up, and the URL right?",
            Exit.ENGINE,
        ) from error
    if answer.status_code == 401:
        raise VtuneError(f"{base} wants an API key", f"put it into the environment variable {API_KEY}", Exit.ENGINE)
    try:
        model = answer.json()["data"][0]["id"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise VtuneError(
            f"{base}/v1/models is not an OpenAI model list (HTTP {answer.status_code})",
            "give the base URL of the server, without /v1",
            Exit.ENGINE,
        ) from None
    parts = urlsplit(base)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Launch((), {}, "", parts.hostname or "", port, base, str(model), "", {})


async def wait(
    client: "httpx.AsyncClient",
    url: str,
    unreachable: Callable[[str, VtuneError], None] | None,
    also: Sequence[str] = (),
) -> Launch:
    """`find`, tried again while nobody answers, each time told to `unreachable`; once where that is None.

    `also` are engines whose metrics are read beside those of `url`, such as those behind a router.
    """
    while True:
        try:
            return replace(await find(client, url), also=tuple(normalised(other) for other in also))
        except VtuneError as error:
            if unreachable is None or error.code is not Exit.ENGINE:
                raise
            unreachable(url, error)
        await asyncio.sleep(RETRY_S)


async def levers_at(url: str) -> dict[str, str | None]:
    """Lever -> what the engine at `url` says that it runs, None where it does not say.

    Raises VtuneError (exit 3) where nobody answers.
    """
    import httpx

    from tui.engine import applied  # with httpx: not before the screen's first paint

    key = os.environ.get(API_KEY)
    headers = {"Authorization": f"Bearer {key}"} if key else None
    async with httpx.AsyncClient(trust_env=False, timeout=15.0, headers=headers) as client:
        try:
            return dict((await applied.read(normalised(url), {}, client)).levers)
        except VtuneError as error:
            raise VtuneError(error.what, "is the server up, and the URL right?", error.code) from error


def profile(urls: str | Sequence[str], base: Profile | None = None) -> Profile:
    """A profile that stands for the engines at `urls`; its levers are whatever runs there.

    Traffic and targets are those of `base`.
    """
    found = tuple(normalised(url) for url in ([urls] if isinstance(urls, str) else urls))
    engine = EngineSettings(model="", attach=found)
    if base is None:
        return Profile(name=found[0], path=None, source_text="", engine=engine)
    return Profile(base.name, base.path, base.source_text, engine, traffic=base.traffic, targets=base.targets)


def normalised(url: str) -> str:
    """``http://host:port`` without trailing slash or /v1. Raises VtuneError."""
    given = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(given)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise VtuneError(f"{url!r} is no URL of a server", "give it like http://127.0.0.1:8000")
    return given.rstrip("/").removesuffix("/v1").rstrip("/")
