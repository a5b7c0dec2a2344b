"""The catalogue of levers, and the ways in: by name, by flag, by the words of ``--set``."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tui.engine import combinations, lever_kernel, lever_memory, lever_reuse, lever_scheduling, lever_speculation
from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_values import Chunking, count
from tui.errors import VtuneError

__all__ = [
    "FACETS",
    "LEVERS",
    "Lever",
    "ReadBack",
    "Surroundings",
    "Words",
    "get",
    "given_in",
    "nearest",
    "owner",
    "put",
    "resolve",
    "settle",
    "values_with_facets",
]

LEVERS: tuple[Lever, ...] = (
    lever_reuse.PREFIX_CACHING,
    lever_reuse.PREFIX_HASH,
    lever_scheduling.CHUNKED_PREFILL,
    lever_scheduling.MAX_NUM_SEQS,
    lever_scheduling.SCHEDULING_POLICY,
    lever_scheduling.ASYNC_SCHEDULING,
    lever_memory.KV_DTYPE,
    lever_memory.BLOCK_SIZE,
    lever_memory.KV_POOL,
    lever_memory.KV_OFFLOAD,
    lever_speculation.SPECULATIVE,
    lever_kernel.QUANTIZATION,
    lever_kernel.EAGER,
    lever_kernel.TENSOR_PARALLEL,
    lever_kernel.DATA_PARALLEL,
)  # in RAG priority order

_BY_NAME = {lever.name: lever for lever in LEVERS}

FACETS = {"long-prefill-threshold": "chunked-prefill"}
"""Names that set one part of another lever's value: the flag has one owner, and so has the value."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` for the closest known word, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def get(name: str) -> Lever:
    """The lever of that name; VtuneError with the nearest one."""
    if lever := _BY_NAME.get(name):
        return lever
    known = (*_BY_NAME, *FACETS)
    raise VtuneError(
        f"no lever {name!r}{nearest(name, known)}", f"levers are {', '.join(known)}; other flags: raw.FLAG=VALUE"
    )


def owner(flag: str) -> Lever | None:
    """The lever that owns a vLLM flag (without dashes, underscores allowed), in either direction."""
    plain = flag.replace("_", "-").removeprefix("no-")
    return next((lever for lever in LEVERS if plain in lever.owns), None)


def put(values: Mapping[str, Words], name: str, words: str) -> dict[str, Words]:
    """`values` with one lever set; a facet is written into the lever it belongs to. VtuneError where refused."""
    if name in FACETS:
        return {**values, FACETS[name]: _with_threshold(values.get(FACETS[name], "on"), words)}
    return {**values, name: get(name).parse(words)}


def _with_threshold(chunking: Words, words: str) -> Words:
    value = Chunking.read(chunking)
    threshold = (
        0 if words.strip().lower() in ("off", "0", "no", "false") else int(count("long-prefill-threshold", words))
    )
    if not value.on and threshold:
        raise VtuneError(
            f"long-prefill-threshold={words}: chunked prefill is off",
            "set chunked-prefill=2048 first, or leave the threshold out",
        )
    return replace(value, threshold=threshold).write() if value.on else "off"


def resolve(values: Mapping[str, Words], around: Surroundings) -> Surroundings:
    """`settle`, refusing with VtuneError what vLLM would refuse; `combinations.look` tells the rest."""
    settled = settle(values, around)
    combinations.refuse(settled)
    for name, words in settled.values.items():
        lever = get(name)
        elsewhere = lever.platforms and settled.platform not in (*lever.platforms, "other")
        if elsewhere and words != lever.default(settled):
            raise VtuneError(f"{name}={words}: not on {settled.platform}", f"use {name}={lever.default(settled)}")
    return settled


def settle(values: Mapping[str, Words], around: Surroundings) -> Surroundings:
    """`around` with every value in force: the given ones settled, and the core levers' defaults."""
    settled = replace(around, values=dict(values), given=frozenset(values))
    for lever in LEVERS:
        if lever.name in values or lever.core:
            words = lever.settle(values.get(lever.name) or lever.default(settled), settled)
            settled = replace(settled, values={**settled.values, lever.name: words})
    ordered = {lever.name: settled.values[lever.name] for lever in LEVERS if lever.name in settled.values}
    return replace(settled, values=ordered)


def given_in(flags: Mapping[str, Any]) -> dict[str, Words]:
    """Lever -> words for the flags of a command line or of engine.args. Raises VtuneError for an odd value."""
    found = {}
    for lever in LEVERS:
        try:
            words = lever.from_flags(flags)
            if words is not None:
                found[lever.name] = lever.parse(words)
        except (ValueError, TypeError) as error:
            raise VtuneError(f"--{lever.owns[0]}: {error}", f"use {lever.hint}") from error
    return found


def values_with_facets(values: Mapping[str, Words]) -> dict[str, Words]:
    """`values` and, beside each, its facets under their own names."""
    chunking = Chunking.read(values.get("chunked-prefill", "off"))
    return {**values, "long-prefill-threshold": str(chunking.threshold) if chunking.threshold else "off"}
