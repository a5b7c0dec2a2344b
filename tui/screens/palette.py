"""The command palette: every action by its name, found by typing some of it; and whatever else is found that way."""

from collections.abc import Iterable

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tui.screens.choose import line, room
from tui.screens.once import Once
from tui.widgets.plain import plain

_FOUND = Style(underline=True)


class Palette(Once, ModalScreen[SystemCommand | None]):
    """Dismisses with the command, None for escape. What is typed finds; the keys of a list move in it all the same."""

    BINDINGS = [
        Binding("escape", "dismiss", "back", id="palette.back", tooltip="do nothing"),
        Binding("up", "move('cursor_up')", "up", show=False),
        Binding("down", "move('cursor_down')", "down", show=False),
        Binding("pageup", "move('page_up')", "page up", show=False),
        Binding("pagedown", "move('page_down')", "page down", show=False),
    ]

    def __init__(self, title: str, commands: Iterable[SystemCommand], at: int = 0) -> None:
        super().__init__()
        self._title, self._at = title, at
        self._commands = list(commands)
        self._found = self._commands

    def compose(self) -> ComposeResult:
        with Vertical(id="choose-box") as box:
            box.border_title = self._title
            box.border_subtitle = "enter chooses · escape closes"
            yield Input(placeholder="type some of its name", id="palette-line", compact=True)
            found = OptionList(*self._options(None), id="choose-list", markup=False, compact=True)
            found.can_focus = False
            yield found

    def on_mount(self) -> None:
        for found in self.query(OptionList):  # none where a key came that left it before it was there
            found.highlighted = self._at
            self.query_one(Input).focus()

    def _options(self, matcher: Matcher | None) -> list[Option]:
        left, width = room((plain(one.title) for one in self._commands), self.app.size.width)
        names = (Content(plain(one.title)) if matcher is None else matcher.highlight(plain(one.title))
                 for one in self._found)  # fmt: skip
        return [Option(line(name, one.help, left, width)) for name, one in zip(names, self._found, strict=True)]

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        matcher = Matcher(event.value, match_style=_FOUND) if event.value else None
        self._found = self._commands if matcher is None else _best(matcher, self._commands)
        found = self.query_one(OptionList)
        nothing = Option(Content.styled("nothing of that name", "$dim"), disabled=True)
        found.set_options(self._options(matcher) or [nothing])
        found.highlighted = 0 if self._found else None

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose(self.query_one(OptionList).highlighted)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose(event.option_index)

    def _choose(self, place: int | None) -> None:
        if place is not None and place < len(self._found):
            self.dismiss(self._found[place])

    def action_move(self, how: str) -> None:
        for found in self.query(OptionList):
            if found.option_count and found.scrollable_content_region:  # a page is known once it is laid out
                getattr(found, f"action_{how}")()


def _best(matcher: Matcher, commands: list[SystemCommand]) -> list[SystemCommand]:
    """Those that match, the best first."""
    scored = [(matcher.match(plain(one.title)), one) for one in commands]
    return [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0]
