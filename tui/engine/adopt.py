"""A command line that serves already, as a profile: its levers under their names, the rest under engine.args.

Keys and tokens are never written; what vtune writes itself is left out, and said.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui.engine import levers, profile_fields
from tui.engine.command_line import CommandLine, read
from tui.engine.flags import Flag
from tui.engine.lever_forms import mapping_of
from tui.errors import VtuneError

_SECRETS = {"api-key": "VLLM_API_KEY", "hf-token": "HF_TOKEN"}
_SILENT = ("enable-prompt-tokens-details", "enable-per-request-metrics", "per-request-spec-decode-metrics")
_OTHERWISE = {  # flags that vtune writes itself -> what becomes of them
    "host": "engines of vtune listen on loopback",
    "port": "every start takes a fresh port; engine.front-port keeps one address for your clients",
    "served-model-name": "vtune names the model",
    "uds": "vtune needs a port",
    "disable-log-stats": "vtune needs the metrics",
    "headless": "vtune needs the API server",
}
_PLAIN = re.compile(r"[A-Za-z0-9_./][\w./@+-]*")
_WORDS = ("on", "off", "yes", "no", "true", "false", "null", "y", "n", "none")


@dataclass(frozen=True)
class Adopted:
    """The profile as YAML, and a line for everything of the command line that it does not hold."""

    text: str
    notes: tuple[str, ...]


def adopt(words: Sequence[str], name: str, known: Mapping[str, Flag] | None = None) -> Adopted:
    """The profile of a command line (words after a shell's quoting); `known` are the flags of the install.

    Raises VtuneError where it can't be one.
    """
    line = read(words, known)
    if "config" in line.flags:
        raise VtuneError("--config: flags in a file are not read", "write its flags on the command line")
    flags, notes = _without(line.flags)
    found = levers.given_in(flags)
    if found.get("chunked-prefill") == "off" and "max-num-batched-tokens" in flags:
        notes.append("--max-num-batched-tokens: without chunked prefill vtune writes max-model-len, or more")
    rest = {flag: value for flag, value in flags.items() if not _owned(flag, found)}
    env, kept_out = _environment(line)
    return Adopted(_text(name, line, found, rest, env), tuple((*notes, *kept_out)))


def _without(flags: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The flags that a profile may hold, and what is said of the others."""
    kept, notes = {}, []
    for flag, value in flags.items():
        if flag in _SECRETS:
            notes.append(f"--{flag}: a secret is written nowhere; export {_SECRETS[flag]} before starting vtune")
        elif flag in _OTHERWISE:
            notes.append(f"--{flag}: left out, {_OTHERWISE[flag]}")
        elif flag not in _SILENT:
            kept[flag] = value
    return kept, notes


def _owned(flag: str, found: Mapping[str, str]) -> bool:
    """Whether a lever says it already. An offload to another backend is no value of its lever, so its flags stay."""
    lever = levers.owner(flag)
    return lever is not None and lever.name in found


def _environment(line: CommandLine) -> tuple[dict[str, str], list[str]]:
    kept, notes = {}, []
    for name, value in line.env.items():
        if profile_fields.is_secret(name):
            notes.append(f"{name}: a secret is written nowhere; export it before starting vtune")
        else:
            kept[name] = value
    return kept, notes


def _text(
    name: str, line: CommandLine, found: Mapping[str, str], rest: Mapping[str, Any], env: Mapping[str, str]
) -> str:
    rows = [
        "# Adopted from a command line of vLLM; `vtune command --profile FILE` prints it again.",
        f"name: {_yaml(name)}",
    ]
    rows += ["", "engine:", f"  model: {_yaml(line.model)}"]
    if line.python and os.sep in line.python:
        rows.append(f"  python: {_yaml(line.python)}")
    rows += _section("env", {key: str(value) for key, value in env.items()}, quoted=True)
    rows += _section("args", {flag: _plain(value) for flag, value in rest.items()})
    rows += ["", "levers:" if found else "levers: {}"]
    rows += [f"  {lever}: {_words(mapping_of(lever, words))}" for lever, words in found.items()]
    rows += ["", "traffic: {recording: rag-handbook, pace: recorded}     # or your own: vtune record, vtune import"]
    return "\n".join(rows) + "\n"


def _words(value: Any) -> str:
    """Numbers, shares and sizes need no quotes: a lever reads them as they are written."""
    return value if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?%?|\d+[KMGT]iB", value) else _yaml(value)


def _section(title: str, values: Mapping[str, Any], quoted: bool = False) -> list[str]:
    if not values:
        return []
    return [f"  {title}:"] + [f"    {key}: {json.dumps(v) if quoted else _yaml(v)}" for key, v in values.items()]


def _plain(value: Any) -> Any:
    """Numbers and JSON objects mean the same to vLLM; a list in JSON is one word to it, so it stays text."""
    if not isinstance(value, str) or value.lower() in _WORDS:
        return value
    read = profile_fields.literal(value)
    return value if isinstance(read, list) else read


def _yaml(value: Any) -> str:
    """A value in YAML's flow style, of which JSON is a part."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and not _is_number(value)
        return value if plain or value in ("on", "off") else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_yaml(str(key))}: {_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d._]+(e[-+]?\d+)?|0[xob]\w+|\.(inf|nan)", text, re.IGNORECASE) is not None
