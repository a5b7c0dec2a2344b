"""Keys and passwords are stored nowhere: not in the journal, so not in results and reports either."""

import re
from collections.abc import Iterable, Mapping

WITHHELD = "WITHHELD"

_WORDS = r"(?:token|secret|password|passwd|api[_-]?key|access[_-]?key|credentials?)"
_NAME = re.compile(rf"(?:^|[_.-]){_WORDS}$", re.IGNORECASE)
_YAML = re.compile(
    rf"(?P<key>[\"']?(?:[A-Za-z0-9_.-]*[_.-])?{_WORDS}[\"']?\s*:[ \t]*)"
    r"(?:\"[^\"\n]*\"|'[^'\n]*'|\[[^\]\n]*\]|[^\s,}#][^,}\n#]*)",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Does a variable, flag or key of this name hold a secret? ``HF_TOKEN`` does, ``max-tokens`` does not."""
    return bool(_NAME.search(name))


def argv(words: Iterable[str]) -> list[str]:
    """A command line without the values of secret flags, in both forms (``--key V [V]``, ``--key=V``)."""
    shown: list[str] = []
    withhold = False
    for word in words:
        if not word.startswith("--"):
            shown.append(WITHHELD if withhold else word)
            continue
        flag, equals, _ = word.partition("=")
        withhold = is_secret(flag)
        shown.append(f"{flag}={WITHHELD}" if withhold and equals else word)
    return shown


def settings(words: Iterable[str]) -> list[str]:
    """``KEY=VALUE`` words (dotted keys) without the values of secret keys."""
    parts = [word.partition("=") for word in words]
    return [f"{key}={WITHHELD}" if is_secret(key) and equals else key + equals + value for key, equals, value in parts]


def env(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: WITHHELD if is_secret(name) else value for name, value in variables.items()}


def yaml(text: str) -> str:
    """A profile's text without the values of secret keys."""
    return _YAML.sub(lambda match: match["key"] + WITHHELD, text)
