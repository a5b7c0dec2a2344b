"""The fields of a profile outside its levers: their names, their types, and what is refused.

Both doors use them: the YAML file and the dotted paths of ``--set``.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tui.engine.lever_values import OFF, ON
from tui.engine.levers import owner
from tui.errors import VtuneError

_SECRET = re.compile(r"(^|_)(API_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_VTUNE_FLAGS = {  # flags of vLLM that vtune writes itself, and the key that steers them
    "model": "engine.model",
    "model-tag": "engine.model",
    "port": "engine.port",
    "host": "nothing: engines listen on loopback",
    "served-model-name": "nothing: vtune names the model",
    "uds": "nothing: vtune needs a port",
    "enable-prompt-tokens-details": "nothing: vtune always asks for them",
    "enable-per-request-metrics": "nothing: vtune always asks for them",
    "per-request-spec-decode-metrics": "nothing: on while speculation is on",
    "kv-cache-metrics": "nothing: vtune always asks for them",
    "disable-log-stats": "nothing: vtune needs the metrics",
    "config": "the profile itself",
    "headless": "nothing: vtune needs the API server",
}

def is_secret(variable: str) -> bool:
    """Whether an environment variable of that name holds a key or a token."""
    return _SECRET.search(variable) is not None


Reader = Callable[[str, Any], Any]  # key, value -> checked value


def text(key: str, value: Any) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise VtuneError(f"{key}: {value!r} is not text", f"write {key}: followed by a word or a path")


def switch(key: str, value: Any) -> bool:
    word = str(value).strip().lower()
    if isinstance(value, (bool, str)) and word in (*ON, *OFF):
        return word in ON
    raise VtuneError(f"{key}: {value!r} is neither on nor off", f"write {key}: on or {key}: off")


def number(key: str, value: Any) -> float:
    try:
        found = float(value) if not isinstance(value, bool) else 0.0
    except (TypeError, ValueError):
        found = 0.0
    if not 0 < found < float("inf"):
        raise VtuneError(f"{key}: {value!r} is not a number above 0", f"write {key}: 1.0")
    return found


def whole(key: str, value: Any) -> int:
    if not isinstance(value, bool) and re.fullmatch(r"\d{1,6}", str(value)):
        return int(value)
    raise VtuneError(f"{key}: {value!r} is not a whole number", f"write {key}: 1")


def park(key: str, value: Any) -> int:
    return 0 if value is False or str(value).lower() in OFF else whole(key, value)


def port(unset: str) -> Reader:
    """A TCP port, or the word that leaves it unset."""

    def read(key: str, value: Any) -> int | None:
        if value == unset or (unset == "off" and value is False):
            return None
        if not isinstance(value, bool) and re.fullmatch(r"\d{1,5}", str(value)) and 1 <= int(value) <= 65535:
            return int(value)
        raise VtuneError(f"{key}: {value!r} is not a port", f"write {key}: {unset}, or a number from 1 to 65535")

    return read


def env_entry(key: str, value: Any) -> str:
    """A variable of the engine's environment. Secrets come from vtune's own, never from a file or the journal."""
    variable = key.rpartition(".")[2]
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise VtuneError(f"{key}: not the name of a variable", "write NAME: value, such as VLLM_CPU_KVCACHE_SPACE: '1'")
    if is_secret(variable):
        raise VtuneError(
            f"{key}: secrets do not belong in a profile",
            f"export {variable} before starting vtune; the engine inherits it",
        )
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise VtuneError(f"{key}: {value!r} is not text", "write it in quotes: '1'")


def arg_entry(key: str, value: Any) -> Any:
    """A vLLM flag of engine.args; refuses what vtune writes itself, and secrets."""
    flag = plain_flag(key.rpartition(".")[2])
    if flag in ("api-key", "hf-token"):
        raise VtuneError(
            f"{key}: secrets do not belong in a profile", "export VLLM_API_KEY or HF_TOKEN before starting vtune"
        )
    if flag in _VTUNE_FLAGS:
        raise VtuneError(f"{key}: vtune writes this flag itself", f"use {_VTUNE_FLAGS[flag]}")
    if (lever := owner(flag)) and lever.core:
        raise VtuneError(
            f"{key}: this flag belongs to the lever {lever.name}", f"set it under levers: {lever.name}: {lever.hint}"
        )
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return value
    if isinstance(value, (bool, str, int, float, Mapping)):
        return value
    raise VtuneError(f"{key}: {value!r} is not a value of a flag", "write on, off, a number, text, a list or a mapping")


def plain_flag(flag: str) -> str:
    """``--Max_model-len`` as ``max-model-len``."""
    return flag.strip().lstrip("-").replace("_", "-")


def literal(words: str) -> Any:
    """The value that the words of ``--set engine.args.X=WORDS`` mean: bool, number, JSON, else text."""
    word = words.strip()
    if word.lower() in (*ON, *OFF):
        return word.lower() in ON
    try:
        value = json.loads(word)
    except ValueError:
        return word
    return word if value is None or value in (float("inf"), float("-inf")) or value != value else value


def urls(key: str, value: Any) -> tuple[str, ...]:
    """One URL or a list; on a command line they are parted by blanks."""
    given = value.split() if isinstance(value, str) else value
    if isinstance(given, list) and given and all(isinstance(item, str) and item.strip() for item in given):
        return tuple(item.strip() for item in given)
    raise VtuneError(f"{key}: {value!r} is no URL", "write it like [http://127.0.0.1:8000]")


ENGINE: dict[str, Reader] = {
    "model": text,
    "python": text,
    "port": port("auto"),
    "front-port": port("off"),
    "warm": switch,
    "park": park,
    "head-start": switch,
    "pin-kv-pool": switch,
    "preload": switch,
    "dev-mode": switch,
    "attach": urls,
}
ENGINE_MAPS: dict[str, Reader] = {"env": env_entry, "args": arg_entry}
TRAFFIC: dict[str, Reader] = {"recording": text, "pace": text, "speed": number}
SECTIONS = ("name", "engine", "levers", "traffic", "targets")
