"""Levers on the reuse of KV blocks between requests."""

from collections.abc import Mapping
from typing import Any

from tui.engine import lever_values
from tui.engine.lever import Lever, ReadBack, Surroundings, Words

HASHES = ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")


def bool_flag(flag: str, words: Words) -> list[str]:
    """``--flag`` or ``--no-flag``: the direction is always written."""
    return [f"--{flag}" if words == "on" else f"--no-{flag}"]


def bool_words(value: object) -> Words | None:
    """``on``/``off`` of a bool, or of the text of one in a metric's label."""
    return {"True": "on", "False": "off"}.get(str(value))


def switch_given(flag: str, flags: Mapping[str, Any]) -> Words | None:
    """``on``/``off`` of a bool flag on a command line; None where it is not there."""
    return None if flag not in flags else "on" if flags[flag] else "off"


def text_given(flag: str, flags: Mapping[str, Any]) -> Words | None:
    """The flag's value on a command line; None where it is not there."""
    return str(flags[flag]) if flag in flags else None


def any_when_auto(asked: Words, applied: Words) -> bool:
    """``auto`` leaves the choice to vLLM, so any answer fits it."""
    return asked in ("auto", applied)


def _hash_note(words: Words, around: Surroundings) -> str | None:
    if words.startswith("xxhash"):
        return "not collision-proof: do not share the engine between tenants"
    return None


def _caching(read: ReadBack) -> Words | None:
    return bool_words(read.cache("enable_prefix_caching"))


PREFIX_CACHING = Lever(
    name="prefix-caching",
    title="prefix caching",
    group="reuse",
    owns=("enable-prefix-caching",),
    parse=lambda words: lever_values.switch("prefix-caching", words),
    default=lambda around: "on",
    flags=lambda words, around: bool_flag("enable-prefix-caching", words),
    read_back=_caching,
    from_flags=lambda flags: switch_given("enable-prefix-caching", flags),
    kind="switch",
    gain="a prompt that starts like an earlier one skips that part of its prefill: lower TTFT",
    cost="hashing of every block; only whole blocks from the start of the prompt count",
    hint="on | off",
    toggle=("off", "on"),
    choices=("on", "off"),
)

PREFIX_HASH = Lever(
    name="prefix-hash",
    title="prefix hash",
    group="reuse",
    owns=("prefix-caching-hash-algo",),
    parse=lambda words: lever_values.name("prefix-hash", words),
    default=lambda around: "sha256",
    flags=lambda words, around: ["--prefix-caching-hash-algo", words],
    read_back=lambda read: read.cache("prefix_caching_hash_algo"),
    from_flags=lambda flags: text_given("prefix-caching-hash-algo", flags),
    vllm_default=lambda around: around.parser_default("prefix-caching-hash-algo") or "sha256",
    kind="choice",
    gain="xxhash spends less CPU per block than sha256",
    cost="xxhash is not collision-proof; the _cbor forms hash the same in every process",
    hint=" | ".join(HASHES),
    choices=HASHES,
    choices_flag="prefix-caching-hash-algo",
    note=_hash_note,
    since=(0, 8, 5),
    core=False,
)
