"""The stand-in inside a test: ``async with serving(...) as standin: ... standin.url``."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from standin.server import Server
from standin.settings import Settings

INTERPRETER = str(Path(__file__).resolve().parent / "python")  # for engine.python of a profile
FLAGS = ("--served-model-name", "smollm2-135m", "--enable-prompt-tokens-details", "--enable-per-request-metrics")


@dataclass
class StandIn:
    url: str
    server: Server


@asynccontextmanager
async def serving(
    *flags: str, env: Mapping[str, str] | None = None, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[StandIn]:
    """A server in this very loop, fast unless `env` says otherwise; `flags` are vLLM's, after the usual ones."""
    fast = {"STANDIN_BASE_MS": "2", "STANDIN_TOKEN_MS": "0.01", "STANDIN_STEP_MS": "1", "VLLM_SERVER_DEV_MODE": "1"}
    server = Server(Settings.read((*FLAGS, *flags), {**fast, **(env or {})}))
    port = await server.start(host, 0, tls)
    shown = f"[{host}]" if ":" in host else ("localhost" if tls else host)
    try:
        yield StandIn(f"{'https' if tls else 'http'}://{shown}:{port}", server)
    finally:
        await server.stop()
