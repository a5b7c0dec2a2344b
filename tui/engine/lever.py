"""One lever: a declaration of its words, its flags, what it gains and costs, and how to read it back."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tui.engine.flags import Flag

Words = str  # a value in canonical words
Version = tuple[int, ...]
Facts = Mapping[str, Any]  # a checkpoint's config.json


def _no_facts(ref: str) -> Facts | None:
    return None


def version_of(text: str | None) -> Version | None:
    """(0, 32, 0) of "0.32.0+cpu"; None where the version is unknown or odd."""
    numbers = re.match(r"\d+(?:\.\d+)*", text or "")
    return tuple(int(part) for part in numbers[0].split(".")) if numbers else None


@dataclass(frozen=True)
class Surroundings:
    """What a lever's flags, default and hazards depend on besides its own value."""

    platform: str = "other"  # cpu, cuda, rocm; other: not known yet
    device: str | None = None
    device_memory: int | None = None  # bytes of one accelerator
    avx512: bool | None = None  # of this machine's x86 CPU; None: not known
    max_model_len: int | None = None  # None: unknown
    version: str | None = None  # of vLLM
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    values: Mapping[str, Words] = field(default_factory=lambda: MappingProxyType({}))  # all levers, resolved
    place_model: Callable[[str], str] = str  # a model reference -> what vLLM is given
    given: frozenset[str] = frozenset()  # levers that the profile names; the others stand at their defaults
    apart: frozenset[str] = frozenset()  # levers whose flags engine.args writes
    raw: Mapping[str, Words] = field(default_factory=lambda: MappingProxyType({}))  # flags outside the levers
    model: str | None = None  # reference of the target
    facts_of: Callable[[str], Facts | None] = _no_facts  # of a model reference; None: not on this machine
    gpus: int | None = None
    packages: Mapping[str, str] | None = None  # of interest, in the engine's environment; None: unknown
    flags: "Mapping[str, Flag] | None" = None  # of this vLLM's own parser; None: not asked

    @property
    def cpu(self) -> bool:
        return self.platform == "cpu"

    @property
    def gpu(self) -> bool:
        return self.platform in ("cuda", "rocm")

    @property
    def version_tuple(self) -> Version | None:
        return version_of(self.version)

    def since(self, version: Version) -> bool:
        """Whether this vLLM is known to be that version or newer."""
        return self.version_tuple is not None and self.version_tuple >= version

    def before(self, version: Version) -> bool:
        """Whether this vLLM is known to be older."""
        return self.version_tuple is not None and self.version_tuple < version

    def parser_default(self, flag: str) -> str | None:
        """What this vLLM's help gives as the flag's default; None where it decides later, or was not asked."""
        known = self.flags.get(flag) if self.flags is not None else None
        return known.default if known and known.default != "None" else None


@dataclass(frozen=True)
class ReadBack:
    """What a running engine says about itself; both empty where it does not say."""

    server_info: Mapping[str, Any]  # vllm_config of /server_info?config_format=json
    cache_info: Mapping[str, str]  # labels of vllm:cache_config_info, all text

    def config(self, section: str, key: str) -> Any:
        """`server_info[section][key]`, or None."""
        part = self.server_info.get(section)
        return part.get(key) if isinstance(part, Mapping) else None

    def cache(self, key: str) -> str | None:
        """A field of CacheConfig as text, from the metric, else from the server info."""
        if key in self.cache_info:
            return self.cache_info[key]
        section = self.server_info.get("cache_config")
        return str(section[key]) if isinstance(section, Mapping) and key in section else None


def _no_note(words: Words, around: Surroundings) -> str | None:
    return None


def _nothing_read(flags: Mapping[str, Any]) -> Words | None:
    return None


@dataclass(frozen=True)
class Lever:
    """A row of the catalogue. Functions take canonical words, except `parse`, which makes them."""

    name: str
    title: str
    group: str  # reuse, scheduling, memory, speculation, kernel
    owns: tuple[str, ...]  # vLLM flags that nothing else may set, without dashes
    parse: Callable[[str], Words]  # VtuneError where it refuses
    default: Callable[[Surroundings], Words]  # where the profile is silent
    flags: Callable[[Words, Surroundings], list[str]]
    read_back: Callable[[ReadBack], Words | None]  # None: the engine does not say
    gain: str
    cost: str
    hint: str
    toggle: tuple[Words, Words] | None = None  # off, on
    kind: Literal["switch", "choice", "number", "size", "structure"] = "structure"
    least: int | None = None  # bounds of a number; of a structure's numbers, where one bound holds for all
    most: int | None = None
    unit: str = ""  # of the number: tokens, sequences, devices
    choices: tuple[Words, ...] = ()
    choices_flag: str | None = None  # the flag whose choices in vLLM's own parser are values of this lever
    settle: Callable[[Words, Surroundings], Words] = lambda words, around: words  # what these words mean here
    note: Callable[[Words, Surroundings], str | None] = _no_note
    from_flags: Callable[[Mapping[str, Any]], Words | None] = _nothing_read  # a command line's flags -> words
    vllm_default: Callable[[Surroundings], Words] | None = None  # where it differs from `default`
    matches: Callable[[Words, Words], bool] = str.__eq__  # asked, applied
    owns_env: tuple[str, ...] = ()
    since: Version | None = None  # first vLLM version that has it
    until: Version | None = None  # first vLLM version that no longer has it
    platforms: tuple[str, ...] = ()  # empty: all
    core: bool = True  # in the lever panel even when the profile is silent
