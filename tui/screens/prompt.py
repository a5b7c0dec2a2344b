"""A question that is answered by a line of text."""

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui.screens.once import Once


class Prompt(Once, ModalScreen[str | None]):
    """Dismisses with the line, None for escape. `fault` says what is wrong with a line, and keeps it open."""

    BINDINGS = [Binding("escape", "dismiss", "back", id="prompt.back", tooltip="change nothing")]

    def __init__(self, question: str, tells: str, value: str, fault: Callable[[str], str | None]) -> None:
        super().__init__()
        self._question, self._tells, self._value, self._fault = question, tells, value, fault

    def compose(self) -> ComposeResult:
        with Vertical(id="prompt-box") as box:
            box.border_subtitle = "enter starts · escape closes"
            yield Static(Content(self._question), id="prompt-question")
            yield Input(self._value, id="prompt-line", compact=True)
            yield Static(Content(self._tells), id="prompt-tells")

    def on_mount(self) -> None:
        for line in self.query(Input):  # none where a key came that left it before it was there
            line.focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        line = event.value.strip()
        if (fault := self._fault(line)) is None:
            self.dismiss(line)
        else:
            self.query_one("#prompt-tells", Static).update(Content.styled(fault, "$error"))
