"""The lever panel's rows: what the catalogue says, joined with what was asked and what runs."""

from tui.engine import levers
from tui.engine.lever import Surroundings
from tui.session.snapshot import LeverView
from tui.session.state import State


def lever_views(state: State) -> tuple[LeverView, ...]:
    """The core levers, and every other one that the profile or a change names."""
    engine = state.engine
    asked = state.asked
    around = Surroundings(values=asked)
    rows = []
    for lever in levers.LEVERS:
        if not (lever.core or lever.name in asked or lever.name in state.pending):
            continue
        words = asked.get(lever.name, "")
        pending = state.pending.get(lever.name)
        shown = pending or words
        refused = state.refused.get(lever.name)
        note = lever.note(shown, around) if shown else None
        rows.append(
            LeverView(
                name=lever.name,
                title=lever.title,
                group=lever.group,
                asked=words,
                pending=pending,
                applied=engine.applied.get(lever.name) if engine else None,
                toggle=lever.toggle,
                choices=lever.choices,
                hint=lever.hint,
                gain=lever.gain,
                cost=lever.cost,
                note=f"{refused[0]} was refused: {refused[1]}" if refused else note,
            )
        )
    return tuple(rows)
