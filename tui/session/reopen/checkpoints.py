"""States of the fold kept here and there, so that going back folds a few hundred events and not all of them."""

import copy
from bisect import bisect_right
from dataclasses import fields, is_dataclass
from typing import Any

from tui.session.state import State

EVERY = 512  # events


class Checkpoints:
    """`keep` is called on the way through the journal, `before` when the person goes back."""

    def __init__(self, first: State) -> None:
        self._numbers = [0]
        self._states = [copied(first)]

    def keep(self, number: int, state: State) -> None:
        """`state` is what the first `number` events fold to; most calls keep nothing."""
        if number >= self._numbers[-1] + EVERY:
            self._numbers.append(number)
            self._states.append(copied(state))

    def before(self, number: int) -> tuple[int, State]:
        """The nearest kept at or before `number`, as a state of its own."""
        at = bisect_right(self._numbers, number) - 1
        return self._numbers[at], copied(self._states[at])


def copied(state: State) -> State:
    """A state that can be folded on without changing this one.

    What nothing changes any more is shared: runs that have ended, values that are frozen, and what was only
    worked out of the fold (no part of its comparison), such as the sentences of verdicts, which take longest.
    """
    new = copy.copy(state)
    for field in fields(state):
        if field.compare and field.name != "runs":
            setattr(new, field.name, _copied(getattr(state, field.name)))
    new.runs = {number: _copied(run) if number == state.running else run for number, run in state.runs.items()}
    return new


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        # Those of scrapes and finished requests are long, and of one kind that does not change.
        return [_copied(each) for each in value] if value and _changes(value[0]) else list(value)
    if not _changes(value):
        return value
    new = copy.copy(value)
    for field in fields(value):
        setattr(new, field.name, _copied(getattr(value, field.name)))
    return new


def _changes(value: Any) -> bool:
    return isinstance(value, (dict, list)) or (is_dataclass(value) and not value.__dataclass_params__.frozen)  # type: ignore[attr-defined]
