"""One lever: a declaration of its words, its flags, what it gains and costs, and how to read it back."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Words = str  # a value in canonical words


@dataclass(frozen=True)
class Surroundings:
    """What a lever's flags, default and hazards depend on besides its own value."""

    platform: str = "other"  # cpu, cuda, rocm; other: not known yet
    device: str | None = None
    device_memory: int | None = None  # bytes of one accelerator
    max_model_len: int | None = None  # None: unknown
    version: str | None = None  # of vLLM
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    values: Mapping[str, Words] = field(default_factory=lambda: MappingProxyType({}))  # all levers, resolved
    place_model: Callable[[str], str] = str  # a model reference -> what vLLM is given

    @property
    def cpu(self) -> bool:
        return self.platform == "cpu"

    @property
    def version_tuple(self) -> tuple[int, ...] | None:
        """(0, 32, 0) of "0.32.0+cpu"; None where the version is unknown or odd."""
        numbers = re.match(r"\d+(?:\.\d+)*", self.version or "")
        return tuple(int(part) for part in numbers[0].split(".")) if numbers else None


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


def _nothing_wrong(words: Words, around: Surroundings) -> None:
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
    choices: tuple[Words, ...] = ()
    settle: Callable[[Words, Surroundings], Words] = lambda words, around: words  # what these words mean here
    note: Callable[[Words, Surroundings], str | None] = _no_note
    check: Callable[[Words, Surroundings], None] = _nothing_wrong  # VtuneError for what vLLM would refuse
    matches: Callable[[Words, Words], bool] = str.__eq__  # asked, applied
    owns_env: tuple[str, ...] = ()
    since: tuple[int, ...] | None = None  # first vLLM version that has it
    platforms: tuple[str, ...] = ()  # empty: all
    core: bool = True  # in the lever panel even when the profile is silent
