"""A list to choose one thing from, by key, or by a click."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.screens.once import Once
from tui.widgets.panel import words
from tui.widgets.plain import plain

_WIDEST = 90  # as in the stylesheet
_FRAME = 6
"""Cells of its border, its padding and a scroll bar."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`words` and what stands beside them; `value` is what the list gives back."""

    words: str
    beside: str
    value: str


class Choose(Once, ModalScreen[Choice | None]):
    """Dismisses with the choice, None for escape."""

    BINDINGS = [Binding("escape,q", "dismiss", "back", id="choose.back", tooltip="choose nothing")]

    def __init__(self, title: str, choices: Sequence[Choice], at: int = 0) -> None:
        super().__init__()
        self._title, self._choices, self._at = title, choices, at

    def compose(self) -> ComposeResult:
        room = max((len(choice.words) for choice in self._choices), default=0) + 2
        width = min(_WIDEST, self.app.size.width) - _FRAME
        options = [Option(_line(choice, room).truncate(width, ellipsis=True)) for choice in self._choices]
        with Vertical(id="choose-box") as box:
            box.border_title = self._title
            box.border_subtitle = "enter chooses · escape closes"
            yield OptionList(*options, id="choose-list", markup=False, compact=True)

    def on_mount(self) -> None:
        for found in self.query(OptionList):  # none where a key came that left it before it was there
            found.highlighted = self._at
            found.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index])


def _line(choice: Choice, room: int) -> Content:
    name = plain(choice.words, 60)
    return words((name, "bold"), " " * max(1, room - len(name)), (plain(choice.beside, 300), "$dim"))
