"""What a running engine really runs, read back from it: asked and applied stand side by side.

Sources, of vLLM 0.32: the labels of the gauge ``vllm:cache_config_info``; ``/server_info?config_format=json``,
which exists in development mode only; ``/version`` and ``/v1/models``. What none of them says is None.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpx

from tui.engine import levers
from tui.engine.lever import ReadBack
from tui.errors import Exit, VtuneError

_SERVER_INFO_S = 60.0  # its first answer collects facts about the machine, for seconds
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass(frozen=True)
class Applied:
    """The engine's own account of itself; None is unknown."""

    levers: Mapping[str, str | None]  # every lever of the catalogue -> value in canonical words
    mismatches: tuple[str, ...]  # one sentence each
    vllm: str | None
    model: str | None  # the first served name
    device: str | None
    block_size: int | None  # tokens
    kv_cache_tokens: int | None  # of all engines together
    max_model_len: int | None  # tokens
    warnings: tuple[str, ...] = ()
    engines: int = 1


async def read(
    url: str,
    asked: Mapping[str, str],
    client: httpx.AsyncClient | None = None,
    model: str | None = None,
    expected: Mapping[str, str] = MappingProxyType({}),
) -> Applied:
    """Ask the engine at `url` what it runs, and compare with `asked` and `expected` (lever -> words).

    `model` is the served name that is expected, where there is one. Raises VtuneError (exit 3) where
    nothing answers; an endpoint that is missing only leaves its facts unknown.
    """
    if client is None:
        async with httpx.AsyncClient(trust_env=False, timeout=15.0) as own:
            return await read(url, asked, own, model, expected)
    caches = cache_infos(await _text(client, f"{url}/metrics"))
    info = await _json(client, f"{url}/server_info?config_format=json", timeout=_SERVER_INFO_S)
    version = await _json(client, f"{url}/version")
    models = await _json(client, f"{url}/v1/models")
    return interpret(asked, caches, info, version, models, model, expected)


def interpret(
    asked: Mapping[str, str],
    caches: list[dict[str, str]],
    info: Any,
    version: Any,
    models: Any,
    model: str | None = None,
    expected: Mapping[str, str] = MappingProxyType({}),
) -> Applied:
    """The account in these answers: labels of each engine, and the JSON of the other three (None: no answer)."""
    config = info.get("vllm_config") if isinstance(info, dict) else None
    back = ReadBack(config if isinstance(config, dict) else {}, caches[0] if caches else {})
    applied = {lever.name: lever.read_back(back) for lever in levers.LEVERS}
    served = _served(models)
    names = [str(one["id"]) for one in served if "id" in one]
    sizes = [tokens for cache in caches if (tokens := _whole(cache.get("kv_cache_size_tokens")))]
    return Applied(
        levers=applied,
        mismatches=(*mismatches(asked, applied), *contradicted(expected, applied)),
        vllm=version.get("version") if isinstance(version, dict) else None,
        model=names[0] if names else None,
        device=_device(info),
        block_size=_whole(back.cache("block_size")),
        kv_cache_tokens=sum(sizes) if sizes else _whole(back.cache("kv_cache_size_tokens")),
        max_model_len=_whole(served[0].get("max_model_len")) if served else None,
        warnings=tuple(_warnings(back, names, model)),
        engines=max(1, len(caches)),
    )


def mismatches(asked: Mapping[str, str], applied: Mapping[str, str | None]) -> list[str]:
    """A sentence per lever that runs with another value than it was asked to; unknown is no mismatch."""
    found = []
    for name, words in asked.items():
        have = applied.get(name)
        if have is None or words.startswith("raw."):
            continue
        if not levers.get(name).matches(words, have):
            found.append(f"{name}: asked {words}, the engine runs {have}")
    return found


def contradicted(expected: Mapping[str, str], applied: Mapping[str, str | None]) -> list[str]:
    """A sentence per lever that runs otherwise than the rules on combinations foretold (`Launch.expected`)."""
    return [
        f"{name}: with this combination {words} was expected, the engine runs {have}"
        for name, words in expected.items()
        if (have := applied.get(name)) is not None and not levers.get(name).matches(words, have)
    ]


def cache_infos(metrics: str | None) -> list[dict[str, str]]:
    """The labels of ``vllm:cache_config_info``, one dict per engine, by engine number."""
    found = []
    for line in (metrics or "").split("\n"):
        if line.startswith("vllm:cache_config_info{"):
            found.append({key: _unescaped(value) for key, value in _LABEL.findall(line)})
    return sorted(found, key=lambda labels: _whole(labels.get("engine")) or 0)


def _unescaped(value: str) -> str:
    return re.sub(r'\\[\\"n]', lambda match: _ESCAPES[match[0]], value)


def _served(models: Any) -> list[dict[str, Any]]:
    data = models.get("data") if isinstance(models, dict) else None
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []


def _warnings(back: ReadBack, names: list[str], model: str | None) -> list[str]:
    found = []
    if not back.server_info:
        found.append(
            "the engine does not tell its whole configuration (development mode is off): some levers are unverified"
        )
    if not back.cache_info:
        found.append("the engine's metrics do not tell its KV cache")
    if model and names and model not in names:
        found.append(f"the engine serves {', '.join(names)}, not {model}")
    return found


def _device(info: Any) -> str | None:
    if not isinstance(info, dict):
        return None
    system = info.get("system_env")
    gpus = system.get("nvidia_gpu_models") if isinstance(system, dict) else None
    if gpus:
        return str(gpus).splitlines()[0].removeprefix("GPU 0: ")
    config = info.get("vllm_config")
    section = config.get("device_config") if isinstance(config, dict) else None
    kind = next(iter(section.values()), None) if isinstance(section, dict) else section
    return {"cpu": "CPU"}.get(str(kind)) if kind else None


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


async def _text(client: httpx.AsyncClient, url: str) -> str | None:
    try:
        answer = await client.get(url)
    except httpx.HTTPError as error:
        raise VtuneError(
            f"the engine does not answer at {url}: {type(error).__name__}", "see its log", Exit.ENGINE
        ) from error
    return answer.text if answer.status_code == 200 else None


async def _json(client: httpx.AsyncClient, url: str, timeout: float = 15.0) -> Any:
    """The answer as JSON; None where the endpoint is missing, late or not JSON."""
    try:
        answer = await client.get(url, timeout=timeout)
        return answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError):
        return None
