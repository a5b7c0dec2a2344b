"""One line to type a place in the session."""

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui.screens.once import Once
from tui.session.reopen.places import HINT


class PlaceScreen(Once, ModalScreen[str | None]):
    """Dismisses with what was typed, None for escape."""

    BINDINGS = [Binding("escape", "dismiss", "back", id="place.back", tooltip="stay where you are")]

    def compose(self) -> ComposeResult:
        with Vertical(id="place-box"):
            yield Static(Content.assemble(("Go to  ", "bold"), (HINT, "$dim")))
            yield Input(id="place-words", compact=True)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
