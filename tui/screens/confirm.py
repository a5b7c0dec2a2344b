"""A question with a few answers, each a key and a button."""

from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui.screens.once import Once


@dataclass(frozen=True, slots=True)
class Answer:
    key: str
    words: str
    value: str


class Confirm(Once, ModalScreen[str | None]):
    """Dismisses with the value of the answer, None for escape. The last answer has the focus: it changes nothing."""

    BINDINGS = [
        Binding("escape", "dismiss", "back", id="confirm.back", tooltip="change nothing"),
        Binding("up,left", "app.focus_previous", "previous", show=False),
        Binding("down,right", "app.focus_next", "next", show=False),
    ]

    def __init__(self, question: str, *answers: Answer) -> None:
        super().__init__()
        self._question = question
        self._answers = answers

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm-box"):
            yield Static(Content(self._question), id="confirm-question")
            for answer in self._answers:
                label = Content.assemble((f" {answer.key} ", "bold $primary"), f" {answer.words}")
                yield Button(label, id=f"answer-{answer.value}", compact=True)

    def on_mount(self) -> None:
        if buttons := self.query(Button):  # none where a key came that left it before it was there
            buttons.last().focus()

    def on_key(self, event: events.Key) -> None:
        for answer in self._answers:
            if event.key == answer.key:
                event.stop()
                self.dismiss(answer.value)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss((event.button.id or "").removeprefix("answer-"))
