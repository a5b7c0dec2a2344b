"""The recording's lines, made one by one from what was kept."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tui.traffic import recording
from tui.traffic.importers import blocks
from tui.traffic.importers.arrange import Arranged
from tui.traffic.importers.kept import Kept
from tui.traffic.recording import Request


@dataclass(frozen=True, slots=True)
class Plan:
    """`follows` is by request number; `block` tokens stand behind a hash id."""

    header: dict[str, Any]
    kept: Kept
    order: list[int]
    arranged: Arranged
    follows: dict[int, int]
    block: int
    seed: int

    def lines(self) -> Iterator[str]:
        """The header, then each request."""
        yield json.dumps(self.header, ensure_ascii=False, allow_nan=False) + "\n"
        yield from self._rows(expand=True)

    def requests(self, expand: bool = True) -> Iterator[Request]:
        """The same one by one; without `expand` a made-up prompt stays empty, its length and ids are in `extra`."""
        for line in self._rows(expand):
            yield recording.request_of(json.loads(line))

    def _rows(self, expand: bool) -> Iterator[str]:
        names, taken = {}, set()
        roots: dict[int, int] = {}
        for number in self.order:
            name = self._name(number, taken)
            taken.add(name)
            if self._needs_name(number):
                names[number] = name
            head = {"id": name, "at": round(self.arranged.at[number], 6)}
            target = self.follows.get(number)
            roots[number] = roots.get(target, target) if target is not None else number
            if target is not None:
                head["after"] = names[target]
                if (think := self._think(number, target)) is not None:
                    head["think_s"] = think
            if self.kept.parents and number not in self.kept.sessions:
                head["session"] = names[roots[number]]
            yield self._line(head, number, expand)

    def _line(self, head: dict[str, Any], number: int, expand: bool) -> str:
        made, before, rest = self.kept.row(number)
        start = json.dumps(head, ensure_ascii=False)[:-1] + ", "
        if made is None:
            return f"{start}{rest[1:]}\n"
        mark = f'"prompt_tokens": {made.tokens}, ' + (f'"block_size": {self.block}, ' if made.blocks else "")
        prompt = blocks.prompt(made, self.block, self.seed, str(number)) if expand else ""
        return f"{start}{mark}{before[1:]}{prompt}{rest}\n"

    def _needs_name(self, number: int) -> bool:
        return bool(self.follows) or bool(self.kept.parents)

    def _name(self, number: int, taken: set[str]) -> str:
        name = self.kept.ids.get(number) or f"r{number + 1}"
        count = 1
        unique = name
        while unique in taken:
            count += 1
            unique = f"{name}~{count}"
        return unique

    def _think(self, number: int, target: int) -> float | None:
        """Seconds between the answer's end and this request: what the source says, else from its times."""
        if (think := self.kept.thinks.get(number)) is not None:
            return round(think, 6)
        lasted = self.kept.lasted.get(target)
        if lasted is None or not self.arranged.timed:
            return None
        return round(max(0.0, self.arranged.at[number] - self.arranged.at[target] - lasted), 6)
