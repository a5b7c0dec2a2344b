"""The words of lever values: reading them, checking them, writing them in their one canonical form.

Every reader raises VtuneError naming the lever, and ``read(write(x)) == x`` holds for what it returns.
"""

import json
import re
from dataclasses import dataclass, replace

from tui.errors import VtuneError

ON = ("on", "true", "yes")
OFF = ("off", "false", "no")
_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "kb": 10**3, "mb": 10**6, "gb": 10**9}


def refuse(lever: str, words: str, hint: str) -> VtuneError:
    """The error for a value that a lever does not take."""
    return VtuneError(f"{lever}: {words!r} is not a value of this lever", f"use {lever}={hint}")


def switch(lever: str, words: str) -> str:
    """``on`` or ``off``."""
    word = words.strip().lower()
    if word in ON:
        return "on"
    if word in OFF:
        return "off"
    raise refuse(lever, words, "on or off")


def count(lever: str, words: str, least: int = 1, unset: str | None = None) -> str:
    """A whole number of at least `least`, or the word `unset`."""
    word = words.strip().lower().replace(",", "").replace("_", "")
    if unset is not None and word == unset:
        return word
    if re.fullmatch(r"\d{1,12}", word) and int(word) >= least:
        return str(int(word))
    also = f" or {unset}" if unset else ""
    raise refuse(lever, words, f"a whole number from {least} up{also}")


def name(lever: str, words: str, choices: tuple[str, ...] = ()) -> str:
    """One word; of `choices`, where they are closed."""
    word = words.strip()
    if choices and word not in choices:
        raise refuse(lever, words, " | ".join(choices))
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", word):
        raise refuse(lever, words, "one word")
    return word


_HUMAN = {"": 1}
_HUMAN |= {unit: 1000**power for power, unit in enumerate("kmgt", 1)}
_HUMAN |= {unit: 1024**power for power, unit in enumerate("KMGT", 1)}


def human(value: object) -> int:
    """A whole number as vLLM reads it: 8192, ``8k`` is 8,000 and ``8K`` is 8,192 (`human_readable_int`).

    Raises ValueError for other words.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)", str(value).strip())
    if not match:
        raise ValueError(f"{value!r} is not a number")
    return int(float(match[1]) * _HUMAN[match[2]])


@dataclass(frozen=True)
class Chunking:
    """Chunked prefill: token budget per step, and the share of it that one long prefill may take (0: all)."""

    on: bool
    budget: int | None = None  # None: vLLM's own for this device
    threshold: int = 0

    @classmethod
    def read(cls, words: str) -> "Chunking":
        word = words.strip().lower().replace("_", "")
        if word in OFF:
            return cls(on=False)
        match = re.fullmatch(r"(on|true|yes|\d{1,9})(?:/(\d{1,9}|off))?", word)
        if not match or match[1] == "0":
            raise refuse(
                "chunked-prefill", words, "off | BUDGET | BUDGET/LONG-PREFILL-THRESHOLD, such as 2048 or 512/256"
            )
        budget = None if match[1] in ON else int(match[1])
        threshold = int(match[2]) if match[2] and match[2] != "off" else 0
        return cls(True, budget, threshold)

    def write(self) -> str:
        if not self.on:
            return "off"
        budget = "on" if self.budget is None else str(self.budget)
        return f"{budget}/{self.threshold}" if self.threshold else budget


LOOKUP = ("ngram", "ngram-gpu")
DRAFTED = ("draft-model", "eagle", "eagle3", "dflash", "dspark", "medusa", "mlp-speculator")
_FORMS = "off | ngram:4:2-4 | draft-model:PATH:3 | suffix | eagle:PATH:3 | eagle3:PATH:3 | mtp:1"


@dataclass(frozen=True)
class Speculation:
    """Speculative decoding: who proposes, and how many tokens a step (None: the method's own number).

    `options` are further keys of vLLM's config: (key, JSON value), written as ``;key=value`` after the rest.
    """

    method: str | None = None  # None: off
    tokens: int | None = None
    lookup: tuple[int, int] | None = None  # n-gram lengths looked up, shortest and longest
    model: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, words: str) -> "Speculation":
        text, semicolon, more = words.strip().partition(";")
        try:
            found = cls._plain(text)
            if found is not None and not semicolon:
                return found
            if found is not None and found.method is not None:
                return replace(found, options=_options(more))
        except ValueError:
            pass
        raise refuse("speculative", words, _FORMS)

    @classmethod
    def _plain(cls, text: str) -> "Speculation | None":
        method, _, rest = text.partition(":")
        method = method.lower().replace("_", "-")
        if method in OFF and not rest:
            return cls()
        if method in LOOKUP:
            return cls._lookup(method, rest)
        if method in DRAFTED:
            model, colon, tokens = rest.rpartition(":")
            return cls(method, tokens=_positive(tokens), model=model) if colon and model else None
        if method in ("suffix", "mtp"):
            return cls(method, tokens=_positive(rest) if rest else None)
        return None

    @classmethod
    def _lookup(cls, method: str, rest: str) -> "Speculation":
        tokens, _, lengths = rest.partition(":")
        shortest, dash, longest = (lengths or "2-4").partition("-")
        low = _positive(shortest)
        high = _positive(longest) if dash else low
        if low > high:
            raise ValueError(lengths)
        return cls(method, _positive(tokens or "4"), (low, high))

    def write(self) -> str:
        if self.method is None:
            return "off"
        more = "".join(f";{key}={value}" for key, value in self.options)
        if self.lookup:
            return f"{self.method}:{self.tokens}:{self.lookup[0]}-{self.lookup[1]}{more}"
        parts = (self.method, self.model, None if self.tokens is None else str(self.tokens))
        return ":".join(part for part in parts if part) + more


_TAKEN = ("method", "num_speculative_tokens", "prompt_lookup_min", "prompt_lookup_max")


def _options(text: str) -> tuple[tuple[str, str], ...]:
    """``a=1;b="x"`` as sorted (key, compact JSON). Raises ValueError; a word that is no JSON is text."""
    found = {}
    for part in text.split(";"):
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not re.fullmatch(r"[a-z]\w*", key) or key in _TAKEN:
            raise ValueError(part)
        try:
            plain = json.loads(value)
        except ValueError:
            plain = value.strip()
        found[key] = json.dumps(plain, sort_keys=True, allow_nan=False)
    return tuple(sorted(found.items()))


def _positive(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text) or int(text) < 1:
        raise ValueError(text)
    return int(text)


LEVELS = ("O0", "O1", "O2", "O3")


def eager(words: str) -> str:
    """``on``, ``off`` (compiled at vLLM's own level), or a level of optimisation."""
    word = words.strip()
    if word.upper() in LEVELS:
        return word.upper()
    if word.lower() in (*ON, *OFF):
        return switch("eager", word)
    raise refuse("eager", words, "on | off | O0 | O1 | O2 | O3")


def bytes_of(lever: str, words: str) -> int:
    """Bytes of ``2GiB``, ``512 MiB``, ``1073741824``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", words.strip().lower())
    if not match or match[2] not in _UNITS or float(match[1]) == 0:
        raise refuse(lever, words, "a size such as 2GiB")
    return int(float(match[1]) * _UNITS[match[2]])


def size(count: float) -> str:
    """Bytes in the shortest exact binary unit: 2147483648 is ``2GiB``."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor and count % factor == 0:
            return f"{int(count // factor)}{unit}"
    return str(int(count))


def pool(lever: str, words: str) -> str:
    """The KV pool: ``auto``, a size, or a share of the device's memory."""
    word = words.strip().lower()
    if word == "auto":
        return word
    if match := re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", word):
        share = float(match[1])
        if 0 < share <= 100:
            return f"{share:g}%"
    elif word[:1].isdigit():
        return size(bytes_of(lever, words))
    raise refuse(lever, words, "auto | 2GiB | 90%")


def offload(lever: str, words: str) -> str:
    """KV offload to the host's memory: ``off`` or a size in whole or broken GiB."""
    return "off" if words.strip().lower() in OFF else size(bytes_of(lever, words))
