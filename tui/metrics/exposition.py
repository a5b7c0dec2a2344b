"""A fast reader of Prometheus text, for the vLLM metrics that vtune knows.

A real page is 57 KB per engine and is read several times a second, so a line is split at its last
blank and the rest of it (name and labels, the same in every page) is looked up in a cache.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from tui.metrics.names import PREFIX, PROCESS_START, SOURCES, Source

_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CACHE_LIMIT = 50_000  # label sets; a server that invents new ones for ever must not fill our memory


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where the value of a line belongs."""

    engine: str
    source: Source
    labels: dict[str, str]


class Exposition:
    """Reads pages of one server; keep it between pages, it remembers their label texts."""

    def __init__(self) -> None:
        self._slots: dict[str, _Slot | None] = {}

    def read(self, text: str) -> tuple[dict[str, dict[str, Any]], float | None]:
        """Per engine the fields of EngineSample, and the process's start time (epoch seconds)."""
        pages: dict[str, _Page] = {}
        started_at = None
        slots = self._slots
        for line in text.split("\n"):  # not splitlines: a label may hold U+2028
            if line[:1] in ("", "#"):
                continue
            head, _, number = line.rpartition(" ")
            if head in slots:
                slot = slots[head]
            elif head == PROCESS_START:
                started_at = _number(number)
                continue
            else:
                slot, number = self._learn(head, number)
            if slot is None or (value := _number(number)) is None:
                continue
            pages.setdefault(slot.engine, _Page()).add(slot, value)
        return {name: page.fields() for name, page in pages.items()}, started_at

    def _learn(self, head: str, number: str) -> tuple[_Slot | None, str]:
        """Slot and value text of a line whose label text is new."""
        name, brace, rest = head.partition("{")
        if brace and not head.endswith("}") or not brace and " " in head:
            # "name{...} value timestamp": the last blank stood before the timestamp.
            head, _, number = head.rpartition(" ")
            name, brace, rest = head.partition("{")
        if len(self._slots) >= _CACHE_LIMIT:
            self._slots.clear()
        source = SOURCES.get(name.rstrip()) if name.startswith(PREFIX) else None
        slot = None
        if source is not None:
            labels = parse_labels(rest.removesuffix("}")) if brace else {}
            slot = _Slot(labels.get("engine", "0"), source, labels)
        self._slots[head] = slot
        return slot, number


class _Page:
    """The values of one engine on one page: the newest name of a field wins over older ones."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._ranks: dict[str, int] = {}
        self._positions: dict[int, int] = {}

    def add(self, slot: _Slot, value: float) -> None:
        field, rank = slot.source.field, slot.source.rank
        known = self._ranks.get(field)
        if known is not None and rank > known:
            return
        if known is None or rank < known:
            self._values.pop(field, None)
            self._ranks[field] = rank
        self._merge(slot, field, value)

    def _merge(self, slot: _Slot, field: str, value: float) -> None:
        kind = slot.source.kind
        if kind == "info":
            self._values[field] = slot.labels
        elif kind == "position":
            position = slot.labels.get("position", "")
            if position.isdecimal():
                self._positions[int(position)] = self._positions.get(int(position), 0) + int(value)
        elif kind == "share":
            self._values[field] = max(value, self._values.get(field, value))
        elif kind == "seconds":
            self._values[field] = self._values.get(field, 0.0) + value
        else:
            self._values[field] = self._values.get(field, 0) + int(value)

    def fields(self) -> dict[str, Any]:
        if self._positions:
            last = max(self._positions)
            self._values["spec_accepted_per_pos"] = tuple(self._positions.get(i, 0) for i in range(last + 1))
        return self._values


def parse_labels(text: str) -> dict[str, str]:
    """Labels between the braces; values may hold braces, commas, blanks and escaped quotes."""
    return {m[1]: _ESCAPE.sub(_unescape, m[2]) if "\\" in m[2] else m[2] for m in _LABEL.finditer(text)}


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _number(text: str) -> float | None:
    """A sample's value; None for NaN, infinities and what is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
