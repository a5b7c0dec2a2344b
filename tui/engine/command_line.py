"""A command line of vLLM's server, read as vLLM's own parser would read it.

Rules of `FlexibleArgumentParser` (P/utils/argparse_utils.py of 0.32): underscores are dashes, the last of equal
flags wins, ``--a.b=1`` builds a JSON argument, ``--a.b+=x,y`` a list in it, ``-O3`` is ``--optimization-level 3``.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from tui.engine.flags import Flag
from tui.engine.lever_values import human
from tui.errors import VtuneError

SHORT = {
    "-tp": "tensor-parallel-size", "-dp": "data-parallel-size", "-pp": "pipeline-parallel-size", "-q": "quantization",
    "-sc": "speculative-config", "-cc": "compilation-config", "-ac": "attention-config", "-asc": "api-server-count",
    "-dcp": "decode-context-parallel-size", "-ep": "enable-expert-parallel", "-h": "help", "-dpl":
    "data-parallel-size-local", "-O": "optimization-level", "--device-memory-utilization": "gpu-memory-utilization",
    "--kv-cache-memory": "kv-cache-memory-bytes",
}  # fmt: skip
"""Short names of vLLM 0.32, for where its parser was not asked."""

_BARE = ("headless", "disable-log-stats", "grpc", "aggregate-engine-logging")  # switches without a --no- form
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_WRAPPERS = ("env", "exec", "nohup", "sudo", "time", "uv", "run", "poetry")
_CONTAINERS = ("docker", "podman", "nerdctl")
_SHELL = ("&", "&&", ";", "|", ">", ">>", "&>", "2>", "2>&1", "<")
_MODULES = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main", "vllm.entrypoints.launchers")


@dataclass
class CommandLine:
    """What the words say; a flag's value is True or False of a switch, text, a list of texts, or JSON."""

    env: dict[str, str] = field(default_factory=dict)
    python: str | None = None  # as given, where an interpreter starts it
    model: str | None = None
    flags: dict[str, Any] = field(default_factory=dict)


def read(words: Sequence[str], known: Mapping[str, Flag] | None = None) -> CommandLine:
    """`words` of a shell, after its quoting. `known` are the flags of an install: which of them are switches.

    Raises VtuneError where they are no server of vLLM.
    """
    found = CommandLine()
    rest = _start(list(words), found)
    names = _names(known)
    dotted: dict[str, Any] = {}
    for name, values in _groups(rest, names, known, found):
        if "." in name:
            _nest(dotted, name, values)
            continue
        plain = name.removeprefix("no-")
        if name != plain and not values and (known is None or name not in known):
            found.flags[plain] = False
        else:
            found.flags.pop(name, None)  # the last wins, also in its place
            found.flags[name] = True if not values else values[0] if len(values) == 1 else values
    found.flags |= dotted
    if (given := found.flags.pop("model", None)) is not None or found.model is None:
        found.model = given or found.flags.pop("model-tag", None)
    if not found.model:
        raise VtuneError("no model in this command line", "write it as: vtune adopt -o PROFILE -- vllm serve MODEL ...")
    return found


def _start(words: list[str], found: CommandLine) -> list[str]:
    """Takes the environment and the program off the front, and what a shell does with it off the end."""
    end = next((at for at, word in enumerate(words) if word in _SHELL), len(words))
    words = words[:end]
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.fullmatch(words[0])):
        if match := _ASSIGNMENT.fullmatch(words[0]):
            found.env[match[1]] = match[2]
        words = words[1:]
    if words and PurePath(words[0]).name in _CONTAINERS:
        return _in_container(words, found)
    if len(words) >= 3 and words[1] == "-m" and words[2] in _MODULES:
        found.python, words = words[0], words[3:]
        return words[1:] if words[:1] == ["serve"] else words
    if len(words) >= 2 and PurePath(words[0]).name == "vllm" and words[1] == "serve":
        return words[2:]
    raise VtuneError(
        "this is no command line of vLLM's server",
        "begin it with: vllm serve MODEL, or python -m vllm.entrypoints.openai.api_server",
    )


def _in_container(words: list[str], found: CommandLine) -> list[str]:
    """What follows the image of ``docker run``: its entry point is the server (`vllm/vllm-openai`)."""
    image = next((at for at, word in enumerate(words) if "vllm" in word and "=" not in word and word[0] != "-"), None)
    if image is None:
        raise VtuneError("no image of vLLM in this command line", "give what runs in it, begun with: vllm serve MODEL")
    for flag, value in zip(words[:image], words[1 : image + 1], strict=True):
        if flag in ("-e", "--env") and (match := _ASSIGNMENT.fullmatch(value)):
            found.env[match[1]] = match[2]
    rest = words[image + 1 :]
    return rest if not rest or _is_flag(rest[0]) else _start(rest, found)


def _names(known: Mapping[str, Flag] | None) -> dict[str, str]:
    """Other names of flags -> the one that vtune uses."""
    own = {alias: flag.name for flag in (known or {}).values() for alias in flag.aliases}
    return {**own, **SHORT} if known is None else {**SHORT, **own}


def _groups(
    words: list[str], names: Mapping[str, str], known: Mapping[str, Flag] | None, found: CommandLine
) -> Iterator[tuple[str, list[str]]]:
    """(flag, its words), in their order; a word that belongs to none is the model."""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_flag(word):
            found.model = word
            continue
        name, equals, value = word.partition("=")
        if level := re.fullmatch(r"-O(\d|[A-Za-z]\w*)", name):
            yield "optimization-level", [level[1]]
            continue
        name = _canonical(name, names)
        values = [value] if equals else []
        if not equals and not _is_switch(name, known):
            while at < len(words) and not _is_flag(words[at]):
                if values and not _takes_more(name, known):
                    break
                values.append(words[at])
                at += 1
        yield name, values


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", word)


def _canonical(name: str, names: Mapping[str, str]) -> str:
    head, dot, tail = name.partition(".")
    head = f"--{head[2:].replace('_', '-')}" if head.startswith("--") else head
    return names.get(head, head.lstrip("-")) + dot + tail


def _is_switch(name: str, known: Mapping[str, Flag] | None) -> bool:
    if name.startswith("no-") or name in _BARE:
        return True
    flag = (known or {}).get(name)
    return flag is not None and (flag.negatable or (flag.default == "False" and not flag.choices))


def _takes_more(name: str, known: Mapping[str, Flag] | None) -> bool:
    """Whether several words may follow; without the parser's word, only for those that are lists by their name."""
    flag = (known or {}).get(name)
    if flag is not None and flag.several:
        return True
    return name in ("lora-modules", "served-model-name", "middleware", "allowed-local-media-path", "api-key")


def _nest(dotted: dict[str, Any], name: str, values: list[str]) -> None:
    if not values:
        raise VtuneError(f"--{name}: no value", f"write --{name}=VALUE")
    text = values[0]
    key, *path = name.removesuffix("+").split(".")
    value = text.split(",") if name.endswith("+") else _value(text)
    place = dotted.setdefault(key, {})
    for part in path[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise VtuneError(f"--{name}: {part} is a value already", "give the argument once, as JSON")
    last = path[-1]
    place[last] = place[last] + value if isinstance(value, list) and isinstance(place.get(last), list) else value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return human(text)
    except ValueError:
        return text
