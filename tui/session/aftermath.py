"""What can be said of a run's prompts once it is over, while the engine that served them is still there to ask."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tui.engine.applied import Applied
from tui.engine.launch import Launch
from tui.session.ceiling import Ceilings
from tui.session.reuse import study
from tui.session.traffic import Traffic
from tui.traffic.outcome import Outcome

QUOTED = 24  # tokens of a lost prefix by which a person knows it again
WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Served:
    """The engine that a run was on."""

    client: httpx.AsyncClient
    launch: Launch
    applied: Applied


async def of_run(
    engine: Served, ceilings: Ceilings, traffic: Traffic, total: int, outcomes: Sequence[Outcome], cold_start: bool
) -> dict[str, Any] | None:
    """The study of the run's reuse; None where prompts or blocks are not known, or nothing was cached by request."""
    applied = engine.applied
    if applied.block_size is None or applied.levers.get("prefix-caching") == "off":
        return None
    tokens = await ceilings.tokens(engine.client, engine.launch, traffic.recording, total)
    if tokens is None:
        return None
    pool = None if applied.kv_cache_tokens is None else applied.kv_cache_tokens // applied.engines
    told, named = await asyncio.to_thread(
        study, traffic.recording.requests[:total], tokens, outcomes, applied.block_size, pool,
        empty_at_start=cold_start, cpu=(applied.device or "").upper().startswith("CPU"),
        engines=applied.engines + len(engine.launch.also), computed_again=int(_drops_a_block(applied)),
    )  # fmt: skip
    if traffic.keep_text and told["lost"]:
        for row, prefix in zip(told["lost"]["prefixes"], named, strict=True):
            row["quote"] = await _quote(engine, tokens[prefix.place][prefix.start : prefix.start + QUOTED])
    return told


def _drops_a_block(applied: Applied) -> bool:
    method = (applied.levers.get("speculative") or "off").partition(":")[0]
    return method in ("eagle", "eagle3", "mtp", "dflash", "dspark")


async def _quote(engine: Served, tokens: Sequence[int]) -> str | None:
    """The words of these tokens, by the engine's ``/detokenize``; None where it has none."""
    body = {"model": engine.launch.model, "tokens": list(tokens)}
    try:
        answer = await engine.client.post(f"{engine.launch.url}/detokenize", json=body, timeout=WITHIN_S)
        found = answer.json()["prompt"] if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None
    return " ".join(found.split()) if isinstance(found, str) else None
