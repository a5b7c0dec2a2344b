"""A suggestion, with the figure it rests on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]  # a vtune.run/1 object
Can = Callable[[str, str], bool]  # lever, value: whether this install has it, and it was neither tried nor refused


@dataclass(frozen=True, slots=True)
class Step:
    """`lever` is None where nothing new is worth trying; `why` then says what was looked at.

    `back` is the earlier run whose levers were better than those of now.
    """

    lever: str | None
    value: str | None
    why: str
    back: int | None = None

    @property
    def setting(self) -> str | None:
        """In the words of --set."""
        return None if self.lever is None else f"{self.lever}={self.value}"

    def sentence(self) -> str:
        if self.back is not None:
            return f"go back to the levers of run {self.back}: {self.why}"
        return f"nothing is worth trying next: {self.why}" if self.lever is None else f"{self.setting}: {self.why}"

    def to_json(self) -> dict[str, Any]:
        return {"lever": self.lever, "value": self.value, "why": self.why, "back_to_run": self.back}


def part(result: Result, *keys: str) -> Any:
    """The value at a path of a result; None where an older vtune wrote it without."""
    found: Any = result
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def applied(result: Result, lever: str) -> str | None:
    """The lever's value in this arm, as read back, else as asked."""
    return part(result, "engine", "applied", lever) or part(result, "engine", "asked", lever)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def first_of(can: Can, options: list[tuple[str, str | None]], why: str) -> Step | None:
    """The first option that can be had; None where none can."""
    found = ((lever, value) for lever, value in options if value is not None and can(lever, value))
    return next((Step(lever, value, why) for lever, value in found), None)
