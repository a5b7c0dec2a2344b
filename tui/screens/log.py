"""The engine's log, followed as the file grows: text only."""

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import RichLog, Static

from tui.session.snapshot import Snapshot
from tui.widgets.keys import Keys
from tui.widgets.log_tail import LogTail, severity
from tui.widgets.panel import words
from tui.widgets.plain import plain

_WIDEST = 1_000
_RICH = {"$error": "bold red", "$warning": "yellow", "": ""}


class LogScreen(Screen[None]):
    """Opens at the end and stays there until scrolled away."""

    BINDINGS = [
        Binding("escape,l,q", "dismiss", "back", id="log.back", tooltip="back to the dashboard"),
        Binding("home,g", "first", "first line", id="log.first", tooltip="go to the first line"),
        Binding("end,G", "last", "last line", id="log.last", tooltip="go to the end and follow it"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tail = LogTail(keep=1)

    def compose(self) -> ComposeResult:
        yield Static(id="log-title")
        yield RichLog(id="log-lines", max_lines=20_000, markup=False, highlight=False, wrap=False)
        yield Keys(id="keys")

    def show(self, snapshot: Snapshot) -> None:
        path = snapshot.engine.log_path
        lines = self.query_one(RichLog)
        title = "no engine log yet" if path is None else plain(path)
        self.query_one("#log-title", Static).update(words(("Engine log  ", "bold"), (title, "$dim")))
        for line in self._tail.look(path):
            lines.write(Text(plain(line, _WIDEST), style=_RICH[severity(line)], no_wrap=True), scroll_end=None)

    def action_first(self) -> None:
        self.query_one(RichLog).scroll_home(animate=False)

    def action_last(self) -> None:
        self.query_one(RichLog).scroll_end(animate=False)
