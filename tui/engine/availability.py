"""Whether a lever is to be had in an install, which values it takes there, and what vLLM would choose by itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tui.engine.lever import Lever, Surroundings, Version, Words
from tui.engine.lever_memory import CPU_DTYPES
from tui.engine.lever_values import DRAFTED, LOOKUP
from tui.engine.levers import LEVERS
from tui.engine.rules_speculation import methods
from tui.errors import VtuneError


@dataclass(frozen=True)
class Offer:
    """A lever as this install has it."""

    name: str
    available: bool
    reason: str | None  # why not
    choices: tuple[Words, ...]  # closed list of values, new ones of this vLLM included; empty: other words are typed
    default: Words  # what vLLM would choose here, were the flag left out
    help: str | None = None  # of its first flag, in vLLM's words; None: not asked


def offers(around: Surroundings) -> dict[str, Offer]:
    """Every lever of the catalogue, by name."""
    return {lever.name: offer(lever, around) for lever in LEVERS}


def offer(lever: Lever, around: Surroundings) -> Offer:
    reason = missing(lever, around)
    flags = around.flags or {}
    told = flags.get(lever.owns[0])
    chosen = lever.vllm_default or lever.default
    words = told.help if told else None
    return Offer(lever.name, reason is None, reason, choices(lever, around), chosen(around), words)


def missing(lever: Lever, around: Surroundings) -> str | None:
    """Why this install lacks the lever; None where it has it. By the version, while the parser was not asked."""
    if lever.platforms and around.platform not in (*lever.platforms, "other"):
        return f"only on {', '.join(lever.platforms)}; this is {around.platform}"
    if around.flags is not None:
        if any(flag in around.flags for flag in lever.owns):
            return None
        return _by_version(lever, around) or f"this vLLM ({around.version or 'unknown'}) has no --{lever.owns[0]}"
    return _by_version(lever, around)


def _by_version(lever: Lever, around: Surroundings) -> str | None:
    if lever.since and around.before(lever.since):
        return f"needs vLLM {_short(lever.since)}, this is {_here(around)}"
    if lever.until and around.since(lever.until):
        return f"gone since vLLM {_short(lever.until)}, this is {_here(around)}"
    return None


def _short(version: Version) -> str:
    return ".".join(str(part) for part in version)


def _here(around: Surroundings) -> str:
    return _short((around.version_tuple or ())[:2]) or "unknown"


def choices(lever: Lever, around: Surroundings) -> tuple[Words, ...]:
    """The lever's values in this vLLM: its parser's own where it tells them, else those that vtune knows."""
    flag = around.flags.get(lever.choices_flag) if around.flags is not None and lever.choices_flag else None
    if lever.name == "speculative":
        return _speculations(tuple(name for name in methods(around) if not (around.cpu and name == "ngram-gpu")))
    if flag is None or not flag.choices:
        return lever.choices
    told = tuple(choice for choice in flag.choices if choice != "None")
    if around.cpu and lever.name == "kv-dtype":  # the parser lists those of all devices
        told = tuple(choice for choice in told if choice in CPU_DTYPES)
    return told if "auto" in told or "auto" not in lever.choices else ("auto", *told)


def _speculations(known: tuple[str, ...]) -> tuple[Words, ...]:
    """Forms to start from: one per method; empty where the parser does not list them."""
    if not known:
        return ()
    forms = {"ngram": "ngram:4:2-4", "ngram-gpu": "ngram-gpu:4:2-4", "suffix": "suffix", "mtp": "mtp:1"}
    forms |= {name: f"{name}:PATH:3" for name in DRAFTED}
    return ("off", *(forms[name] for name in (*LOOKUP, "suffix", "mtp", *DRAFTED) if name in known))


def written(lever: Lever, words: Words, around: Surroundings) -> list[str]:
    """The lever's flags on this vLLM. One that it lacks is left out where it would only say the default.

    Raises VtuneError for a value that this vLLM can't be given.
    """
    flags = lever.flags(words, around)
    if around.flags is None:
        return flags
    kept: list[str] = []
    for flag, *value in _grouped(flags):
        if flag.removeprefix("--no-") in around.flags or flag.removeprefix("--") in around.flags:
            kept += [flag, *value]
        elif words != lever.default(around) and value != ["0"]:
            reason = missing(lever, around) or f"this vLLM ({around.version or 'unknown'}) has no {flag}"
            raise VtuneError(f"{lever.name}={words}: {reason}", f"use {lever.name}={lever.default(around)}")
    return kept


def _grouped(flags: list[str]) -> list[list[str]]:
    groups: list[list[str]] = []
    for word in flags:
        if word.startswith("--"):
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def threshold_offer(around: Surroundings) -> Offer:
    """The facet `long-prefill-threshold` as a row of its own."""
    flag = "long-prefill-token-threshold"
    lacks = around.flags is not None and flag not in around.flags
    told = (around.flags or {}).get(flag)
    reason = f"this vLLM ({around.version or 'unknown'}) has no --{flag}" if lacks else None
    return Offer("long-prefill-threshold", not lacks, reason, (), "off", told.help if told else None)


TOLD = ("platform", "device", "device_memory", "avx512", "max_model_len", "version", "model", "gpus")


def as_json(around: Surroundings) -> dict[str, Any]:
    """For a journal: what the levers see on this install, and what is on offer; `from_json` reads the first."""
    return {
        **{name: getattr(around, name) for name in TOLD},
        "given": sorted({*around.given, *around.apart}),
        "packages": dict(around.packages) if around.packages is not None else None,
        "levers": {name: {"available": one.available, "reason": one.reason, "choices": list(one.choices),
                          "default": one.default} for name, one in offers(around).items()},
    }  # fmt: skip


def from_json(told: Mapping[str, Any]) -> Surroundings:
    """The surroundings without values; of a journal of an older vtune, everything unknown."""
    known = {name: told[name] for name in TOLD if told.get(name) is not None}
    return Surroundings(**known, packages=told.get("packages"))
