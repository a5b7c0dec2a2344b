"""Lever values as a profile may write them: plain words, YAML booleans, numbers, or a mapping."""

import json
from collections.abc import Mapping
from typing import Any

from tui.engine.lever_values import LOOKUP, Chunking, Speculation
from tui.engine.levers import FACETS, get, nearest
from tui.errors import VtuneError

_KEYS = {
    "chunked-prefill": ("tokens", "long-prefill-threshold"),
    "speculative": ("method", "model", "tokens", "lookup", "options"),
}


def words_of(lever: str, value: Any) -> str:
    """The words of ``--set`` for a YAML value; VtuneError names what is wrong with it."""
    if lever not in FACETS:
        get(lever)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Mapping) and lever in _KEYS:
        _known_keys(lever, value)
        return _chunking(value) if lever == "chunked-prefill" else _speculation(value)
    form = "a mapping" if lever in _KEYS else "one word"
    raise VtuneError(
        f"{lever}: not a value of this lever", f"write {form if lever in _KEYS else 'one word'}: {_hint(lever)}"
    )


def _hint(lever: str) -> str:
    return get(FACETS.get(lever, lever)).hint


def _known_keys(lever: str, value: Mapping[Any, Any]) -> None:
    for key in value:
        if key not in _KEYS[lever]:
            raise VtuneError(
                f"{lever}: unknown key {key!r}{nearest(str(key), _KEYS[lever])}", f"keys are {', '.join(_KEYS[lever])}"
            )


def _chunking(value: Mapping[str, Any]) -> str:
    tokens, threshold = value.get("tokens", "on"), value.get("long-prefill-threshold", 0)
    if isinstance(tokens, bool):
        tokens = "on" if tokens else "off"
    if tokens == "off":
        return "off"
    return f"{tokens}/{threshold}" if threshold not in (0, False, None) else str(tokens)


def _speculation(value: Mapping[str, Any]) -> str:
    method, tokens = value.get("method"), value.get("tokens")
    if not isinstance(method, str):
        if method is False:
            return "off"
        raise VtuneError("speculative: which method?", "add method: ngram | draft-model | suffix | eagle3 | mtp")
    parts = [method]
    if "model" in value:
        parts.append(str(value["model"]))
    if tokens is not None:
        parts.append(str(tokens))
    if "lookup" in value:
        if method not in LOOKUP:
            raise VtuneError(f"speculative: {method} looks nothing up", "leave lookup out")
        parts += ["4"] if tokens is None else []
        parts.append(_lookup(value["lookup"]))
    return ":".join(parts) + _options(value.get("options"))


def _options(options: Any) -> str:
    """Further keys of vLLM's speculative config."""
    if options is None:
        return ""
    if not isinstance(options, Mapping):
        raise VtuneError("speculative: options is a mapping", "write options: {draft_tensor_parallel_size: 1}")
    return "".join(f";{key}={json.dumps(value, sort_keys=True)}" for key, value in options.items())


def mapping_of(lever: str, words: str) -> Any:
    """The value for canonical words as a profile would write it: a mapping where several things are said."""
    if lever == "chunked-prefill":
        chunking = Chunking.read(words)
        if not chunking.on or chunking.budget is None:
            return words
        return {"tokens": chunking.budget, "long-prefill-threshold": chunking.threshold}
    if lever == "speculative" and words != "off":
        spec = Speculation.read(words)
        parts = {"method": spec.method, "model": spec.model, "tokens": spec.tokens, "lookup": spec.lookup}
        found = {key: list(part) if key == "lookup" else part for key, part in parts.items() if part is not None}
        options = {key: json.loads(value) for key, value in spec.options}
        return found | ({"options": options} if options else {})
    return words


def _lookup(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) for n in value):
        return f"{value[0]}-{value[1]}"
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise VtuneError("speculative: lookup is two numbers", "write lookup: [2, 4]")
