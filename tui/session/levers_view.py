"""The lever panel's rows: what the catalogue says, joined with what was asked, what runs and what is on offer."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tui.engine import availability, combinations, levers, model
from tui.engine.combinations import Finding
from tui.engine.lever import Lever, Surroundings
from tui.session.snapshot import LeverView
from tui.session.state import State

_KINDS = {"refused": "vLLM would refuse this: ", "overridden": "", "moved": "", "caution": ""}


def lever_views(state: State) -> tuple[LeverView, ...]:
    """Every lever of the catalogue; before the first launch, when no install was asked yet, the core ones."""
    engine = state.engine
    install = engine.install if engine else {}
    offered: Mapping[str, Any] = install.get("levers", {})
    named = {name: words for name, words in state.asked.items() if name in install.get("given", ())}
    found = _found(tuple({**named, **state.pending}.items()), json.dumps(install, sort_keys=True))
    around = availability.from_json(install)
    return tuple(
        _view(lever, state, offered.get(lever.name, {}), around, found)
        for lever in levers.LEVERS
        if lever.core or lever.name in {*offered, *state.asked, *state.pending} or _told(state, lever.name) is not None
    )


def _view(
    lever: Lever, state: State, offer: Mapping[str, Any], around: Surroundings, found: tuple[Finding, ...]
) -> LeverView:
    words, pending = state.asked.get(lever.name, ""), state.pending.get(lever.name)
    return LeverView(
        name=lever.name,
        title=lever.title,
        group=lever.group,
        asked=words,
        pending=pending,
        applied=_told(state, lever.name),
        toggle=lever.toggle,
        choices=tuple(offer.get("choices", lever.choices)),
        hint=lever.hint,
        gain=lever.gain,
        cost=lever.cost,
        note=_note(lever, pending or words, state, around, found),
        default=offer.get("default"),
        extra=not (lever.core or words),
        missing=offer.get("reason"),
    )


def _told(state: State, name: str) -> str | None:
    return state.engine.applied.get(name) if state.engine else None


def _note(lever: Lever, words: str, state: State, around: Surroundings, found: tuple[Finding, ...]) -> str | None:
    if (refused := state.refused.get(lever.name)) is not None:
        return f"{refused[0]} was refused: {refused[1]}"
    lines = [_KINDS[one.kind] + one.sentence() for one in found if one.levers[0] == lever.name]
    if words and not words.startswith("raw.") and (own := lever.note(words, around)) is not None:
        lines.append(own)
    return "; ".join(lines) or None


@lru_cache(maxsize=64)
def _found(values: tuple[tuple[str, str], ...], install: str) -> tuple[Finding, ...]:
    """What the rules say of these levers on this install. Looked up in files once, not on every tick."""
    told = json.loads(install)
    if not told:
        return ()
    known = {name: words for name, words in values if name in _NAMES and not words.startswith("raw.")}
    around = replace(availability.from_json(told), facts_of=model.facts)
    return combinations.look(levers.settle(known, around))


_NAMES = frozenset(lever.name for lever in levers.LEVERS)
