"""The lever panel: the list, what it says about the one chosen, and the line where a value is typed."""

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from tui.session.snapshot import LeverView, Snapshot
from tui.widgets.lever_list import LeverList
from tui.widgets.lever_note import LeverNote
from tui.widgets.plain import plain


class ValueInput(Input):
    """One line for a value; escape leaves it."""

    BINDINGS = [Binding("escape", "leave", "back", id="lever.leave", tooltip="keep the value as it was")]

    def action_leave(self) -> None:
        self.screen.query_one(Levers).finish()


class Levers(Vertical):
    """Posts `LeverList.Set` for every value asked for, toggled or typed."""

    def __init__(self, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.border_title = "Levers"
        self._editing: LeverView | None = None

    def compose(self) -> ComposeResult:
        yield LeverList(id="lever-list")
        yield Vertical(Static(id="lever-hint"), ValueInput(id="lever-value", compact=True), id="lever-edit")
        yield LeverNote(id="lever-note")

    def show(self, snapshot: Snapshot) -> None:
        rows, note = self.query_one(LeverList), self.query_one(LeverNote)
        rows.show(snapshot)
        if rows.lever is not None:
            note.tell(rows.lever)
        note.show(snapshot)

    def focus(self, scroll_visible: bool = True) -> "Levers":
        self.query_one(LeverList).focus(scroll_visible)
        return self

    @on(LeverList.Moved)
    def _moved(self, event: LeverList.Moved) -> None:
        self.query_one(LeverNote).tell(event.lever)

    @on(LeverList.Edit)
    def _edit(self, event: LeverList.Edit) -> None:
        event.stop()
        lever = self._editing = event.lever
        self.query_one("#lever-hint", Static).update(
            Content.assemble((plain(lever.title), "bold"), ("  ", ""), (plain(lever.hint or "a value"), "$dim"))
        )
        line = self.query_one(ValueInput)
        line.suggester = SuggestFromList(lever.choices) if lever.choices else None
        line.value = lever.pending or lever.asked
        self.add_class("-editing")
        line.focus()
        line.action_end()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        lever, value = self._editing, event.value.strip()
        self.finish()
        if lever is not None and value:
            self.post_message(LeverList.Set(lever.name, value))

    def finish(self) -> None:
        """Close the line and go back to the list."""
        self._editing = None
        self.remove_class("-editing")
        self.query_one(LeverList).focus()
