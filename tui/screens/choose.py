"""A list to choose one thing from, by key, or by a click."""

from collections.abc import Iterable, Sequence
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
_FRAME = 5
"""Cells of its border, its padding and a scroll bar."""
_TELLS = 16
"""Cells from which what stands beside a choice tells something."""


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
        left, width = room((choice.words for choice in self._choices), self.app.size.width)
        options = [Option(line(Content(plain(one.words, 60)), one.beside, left, width)) for one in self._choices]
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


def room(names: Iterable[str], screen: int) -> tuple[int, int]:
    """Cells of the column of names, and of a whole line, on a screen of `screen` cells."""
    return max(map(len, names), default=0) + 2, min(_WIDEST, screen) - _FRAME


def line(name: Content, beside: str, left: int, width: int) -> Content:
    """A choice and what stands beside it, if there is room for it."""
    if width - left < _TELLS:
        return name.stylize_before("bold").truncate(width, ellipsis=True)
    gap = " " * max(1, left - name.cell_length)
    return words(name.stylize_before("bold"), gap, (plain(beside, 300), "$dim")).truncate(width, ellipsis=True)
