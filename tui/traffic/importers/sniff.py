"""The beginning of a file, looked at to tell its format."""

import json
from dataclasses import dataclass, field
from typing import Any

from tui.traffic.importers import walk

LOOKED_AT = 40
_FEWEST = 0.2  # part of the first lines that has to be JSON objects, else it is a log that happens to hold some
# Containers that a large document is opened at, so that its beginning tells what it is.
_OPENED = {
    ("log",), ("log", "entries"), ("spans",), ("observations",), ("data",), ("requests",), ("resourceSpans",),
    ("resourceSpans", "*"), ("resourceSpans", "*", "scopeSpans"), ("trace",), ("batches",),
    ("batches", "*"), ("resourceLogs",), ("resourceLogs", "*"), ("resourceLogs", "*", "scopeLogs"),
}  # fmt: skip


@dataclass(slots=True)
class Sniffed:
    """`objects` are whole JSON objects; `keys` are those of the first one, known even if it is too long to hold."""

    head: bytes
    objects: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()

    @property
    def first_line(self) -> str:
        lines = [line for line in self.head[:4096].split(b"\n") if line.strip()]
        return lines[0].decode(errors="replace").strip() if lines else ""

    def has(self, *keys: str) -> bool:
        """Whether any of the first objects has all of `keys`."""
        return any(all(key in row for key in keys) for row in (self.objects or [self.keys]))

    def share(self, *keys: str) -> float:
        """Of the first objects, the part that has one of `keys`."""
        rows = self.objects or [self.keys]
        return sum(1 for row in rows if any(key in row for key in keys)) / len(rows)


def sniff(head: bytes) -> Sniffed:
    found = Sniffed(head)
    start = head.lstrip()[:1]
    if walk.is_lines(head):
        lines = [line for line in head.split(b"\n") if line.strip()][:LOOKED_AT]
        for line in lines:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                found.objects.append(value)
        if len(found.objects) < _FEWEST * len(lines):
            found.objects = []
    elif start in b"{[":
        _documents(head, found)
    if found.objects:
        found.keys = found.objects[0]
    elif start == b"{":
        _keys(head, found)
    inner = found.keys.get("data")
    rows = inner if isinstance(inner, list) else [inner]
    if rows and all(isinstance(row, dict) for row in rows):
        found.objects = rows[:LOOKED_AT]
    if not found.objects and not found.keys and (mark := delimiter(head)) in found.first_line:
        found.columns = tuple(name.strip().strip('"') for name in found.first_line.split(mark))
    return found


def delimiter(head: bytes) -> str:
    """What stands between the cells of a table: the comma, or what spreadsheets write where it is the decimal sign."""
    first = head.lstrip().split(b"\n", 1)[0].decode(errors="replace")
    return max(",;\t", key=first.count)


def _documents(head: bytes, found: Sniffed) -> None:
    try:
        for _, _, value in walk.documents([head.decode(errors="replace")], lambda _: False, objects=False):
            if isinstance(value, dict):
                found.objects.append(value)
            if len(found.objects) >= LOOKED_AT:
                return
    except walk.Broken:
        return


def _keys(head: bytes, found: Sniffed) -> None:
    try:
        for _, path, value in walk.documents([head.decode(errors="replace")], _OPENED.__contains__, objects=True):
            if path:
                found.keys.setdefault(path[0], value)
    except walk.Broken:
        return
