"""Under the levers: what the one under the cursor gains and costs, and what is pending."""

from typing import NamedTuple

from textual.content import Content

from tui.session.snapshot import LeverView, Snapshot
from tui.widgets.key_names import key
from tui.widgets.lever_list import differs
from tui.widgets.lines import Lines
from tui.widgets.panel import words
from tui.widgets.plain import plain


class View(NamedTuple):
    lever: LeverView | None
    pending: int
    proven: bool | None  # asked = applied; None while nothing was read back
    mismatches: tuple[str, ...]
    warnings: tuple[str, ...]
    kept: bool = False


class LeverNote(Lines):
    """Follows the cursor of the list, and the snapshot."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._snapshot = Snapshot()
        self._lever: str | None = None
        self._view = View(None, 0, None, (), ())

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        lever = next((one for one in snapshot.levers if one.name == self._lever), None)
        read = [one for one in snapshot.levers if one.applied is not None]
        proven = None if not read else not snapshot.engine.mismatches
        engine = snapshot.engine
        view = View(lever, len(snapshot.pending), proven, engine.mismatches, engine.warnings, snapshot.kept)
        if view != self._view:
            self._view = view
            self.refresh(layout=True)

    def tell(self, lever: LeverView) -> None:
        """Tell about another lever."""
        self._lever = lever.name
        self.show(self._snapshot)

    def lines(self, width: int) -> list[Content]:
        said = [] if self._view.lever is None else _about(self._view.lever, self._view.mismatches)
        state = _state(self._view)
        warned = [words(("▲ ", "$warning"), plain(warning, 200)) for warning in self._view.warnings[:3]]
        lines = (*state, *([Content("")] if said else []), *said, *([Content("")] if warned else []), *warned)
        return [part for line in lines for part in line.wrap(width)]


def _about(lever: LeverView, mismatches: tuple[str, ...]) -> list[Content]:
    lines = []
    if differs(lever, mismatches) and lever.applied is not None:
        lines.append(
            words(("≠ ", "bold $error"), f"asked {plain(lever.asked)}, the engine runs {plain(lever.applied)}")
        )
    if lever.missing is not None:
        lines.append(words(("○ ", "$dim"), plain(lever.missing, 200)))
    if lever.note:
        lines.append(words(("▲ ", "$warning"), plain(lever.note, 300)))
    if lever.gain:
        lines.append(words(("+ ", "$success"), (plain(lever.gain, 300), "$dim")))
    if lever.cost:
        lines.append(words(("− ", "$error"), (plain(lever.cost, 300), "$dim")))
    if lever.default is not None and lever.missing is None:
        lines.append(words((f"vLLM alone would take {plain(lever.default, 40)}", "$dim")))
    return lines


def _state(view: View) -> list[Content]:
    lines = []
    if view.mismatches:
        number = len(view.mismatches)
        lines.append(words(("≠ ", "bold $error"), f"{number} lever{'s' if number > 1 else ''} not as asked"))
    elif view.proven:
        lines.append(words(("✓ ", "$success"), ("applied = asked", "$dim")))
    elif view.proven is None:
        lines.append(words(("applied values not read yet", "$dim")))
    if view.pending > 1:
        lines.append(
            words(
                ("▲ ", "bold $warning"), (f"{view.pending} changes at once: the gain can't be attributed", "$warning")
            )
        )
    if view.pending:
        number = f"{view.pending} change{'s' if view.pending > 1 else ''}"
        keys = " not applied" if view.kept else f" · {key('apply')} apply · {key('undo')} undo"
        lines.append(words((number, "bold $warning"), (keys, "$dim")))
    return lines
