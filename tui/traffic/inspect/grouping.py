"""Requests that belong together: by the recording's own groups, else by how their prompts begin."""

import re
from collections.abc import Sequence

from tui.traffic.inspect.difference import shown
from tui.traffic.inspect.parts import parts
from tui.traffic.recording import Request

_DIGITS = re.compile(r"[0-9a-f]*\d[0-9a-f]*", re.IGNORECASE)
_LENGTH = 40
MOST = 12


def named(requests: Sequence[Request]) -> list[str | None]:
    """A name for each; all None where there is nothing to tell groups by."""
    if any(request.group for request in requests):
        return [request.group for request in requests]
    names = [_beginning(request) for request in requests]
    return list(names) if 1 < len(set(names)) <= max(2, min(MOST, len(names) // 2)) else [None] * len(names)


def _beginning(request: Request) -> str:
    found = parts(request.body)
    first = next((part for part in found if part.kind != "template"), None)
    kinds = {part.kind for part in found} - {"message", "prompt"}
    text = "" if first is None else _DIGITS.sub("#", first.text.strip()[: 2 * _LENGTH])[:_LENGTH]
    return (f"with {' and '.join(sorted(kinds))}: " if kinds else "") + shown(text)
