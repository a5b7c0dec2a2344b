"""Why a line is not the JSON object that it should be."""

import json
import re
from typing import Any

_COMMA = re.compile(rb",\s*[}\]]")
_KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}


def why(line: bytes, error: Exception) -> tuple[str, str]:
    """(reason, detail) for a line that `error` says is not JSON."""
    start = line.lstrip()
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8", f"not UTF-8 at byte {error.start}"
    if isinstance(error, RecursionError):
        return "nested too deeply", ""
    if isinstance(error, TwiceError):
        return str(error), ""
    if start[:2] == b"//" or start[:1] == b"#":
        return "a comment, not JSON", ""
    if re.match(rb"[{\[]\s*'", start):
        return "a Python repr, not JSON", "a Python repr, not JSON: write it with json.dumps"
    if line.rstrip().endswith(b","):
        return "not JSON: a comma behind the object", f"a comma behind the object ({error})"
    if _COMMA.search(line):
        return "not JSON: a comma before a closing bracket", f"a comma before a closing bracket ({error})"
    return "not JSON", f"not JSON ({error})"


def kind(value: Any) -> str:
    return _KINDS.get(type(value), type(value).__name__)


def is_latin1_json(line: bytes) -> bool:
    """Whether a line that is not UTF-8 is sound JSON in Latin-1: then the whole file is of another encoding."""
    try:
        json.loads(line.decode("latin-1"))
    except (ValueError, RecursionError):
        return False
    return True


class TwiceError(ValueError):
    """A key comes twice in one object."""


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise TwiceError(f"the key {twice!r} comes twice")
    return found
