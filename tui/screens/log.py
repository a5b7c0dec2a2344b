"""The engine's log, followed as the file grows: searched, filtered, text only."""

from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from tui.engine.inside import logs
from tui.screens.once import Once
from tui.session.snapshot import Snapshot
from tui.widgets import figures
from tui.widgets.engine_state import STATES
from tui.widgets.keys import Keys
from tui.widgets.log_tail import LogTail
from tui.widgets.log_view import LogView
from tui.widgets.panel import words
from tui.widgets.plain import plain

_FIRST_LOOK = 4 << 20
"""Bytes of a log that are read when it is opened: its end, about as many lines as the view keeps."""

_FILTERED = {"all": "", "warnings": "warnings and errors only", "errors": "errors only"}


class SearchLine(Input):
    """What to look for; escape leaves it."""

    BINDINGS = [Binding("escape", "leave", "back", id="log.search-leave", tooltip="close the search line")]

    def action_leave(self) -> None:
        assert isinstance(self.screen, LogScreen)
        self.screen.close_search()


class LogScreen(Once, Screen[None]):
    """Opens at the end and stays there until scrolled away."""

    place = "log"
    BINDINGS = [
        Binding("escape,l,q", "dismiss", "back", id="log.back", tooltip="back to the dashboard"),
        Binding("slash", "search", "search", id="log.search", tooltip="look for a text; the last match is shown first"),
        Binding("n", "step(1)", "next", id="log.next", tooltip="the next match, from the end to the start again"),
        Binding("N", "step(-1)", "match before", id="log.previous", tooltip="the match before"),
        Binding("f", "filter", "filter", id="log.filter", tooltip="all lines; warnings and errors; errors only"),
        Binding("end,G", "last", "follow", id="log.last", tooltip="go to the end and follow it"),
        Binding("home,g", "first", "first line", id="log.first", tooltip="go to the first line"),
        Binding("y", "copy", "copy line", id="log.copy", tooltip="copy the match, else the last line in view"),
        Binding("left_square_bracket", "other(-1)", "log before", id="log.before",
                tooltip="the log of the engine before this one"),
        Binding("right_square_bracket", "other(1)", "log after", id="log.after",
                tooltip="the log of the engine after this one"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._tail = LogTail(keep=1, chunk=_FIRST_LOOK)
        self._snapshot = Snapshot()
        self._chosen: Path | None = None  # another engine's log; None: that of the engine that serves
        self._path: Path | None = None
        self._left_out = 0  # lines that the log does not have any more
        self._said = ""  # in place of the title's end, once

    def compose(self) -> ComposeResult:
        yield Static(id="log-title")
        yield LogView(id="log-lines")
        yield SearchLine(id="log-search", placeholder="search the log", compact=True)
        yield Keys(id="keys")

    def on_mount(self) -> None:
        for view in self.query(LogView):  # none where a key came that left it before it was there
            view.focus()
            self.watch(view, "scroll_y", self._entitle)

    def show(self, snapshot: Snapshot) -> None:
        if not self.query(LogView):
            return
        self._snapshot = snapshot
        path = self._chosen or snapshot.engine.log_path
        view = self.query_one(LogView)
        another, fresh = path != self._path, self._tail.look(path)
        if another or self._tail.shrunk:
            self._path = path
            self._left_out = 0 if path is None else logs.left_out(str(path))[0]
            view.start_over()
        view.add(fresh)
        self._entitle()

    def _entitle(self) -> None:
        title, width = self.query_one("#log-title", Static), self.size.width - 2
        glyph, word, style = STATES[self._snapshot.engine.state]
        since = self._snapshot.engine.since
        age = f" {figures.age(self._snapshot.now - since)}" if since else ""
        state = words((f"{glyph} {word}", style), (age, "$dim"))
        none = "vtune did not start this engine" if self._snapshot.engine.state == "attached" else "none yet"
        name = none if self._path is None else self._path.name
        parts = [words(("Engine log  ", "bold"), (plain(name), "")), *self._about()]
        line = Content("")
        for part in parts:
            longer = part if not line else Content.assemble(line, (" · ", "$faint"), part)
            if longer.cell_length > width - state.cell_length - 2:
                break
            line = longer
        title.update(Content.assemble(line, " " * max(2, width - line.cell_length - state.cell_length), state))

    def _about(self) -> list[Content]:
        """What the title tells behind the name, the most wanted first."""
        view = self.query_one(LogView)
        lines = view.log_lines
        parts = []
        if self._said:
            parts.append(words((self._said, "$warning")))
        if lines.sought:
            number, style = "no match", "bold $warning"
            if lines.at is not None:
                number, style = f"match {lines.at + 1} of {len(lines.found)}", "bold"
            parts.append(words((number, style), (f" for {lines.sought}", "$dim")))
        if lines.filter != "all":
            parts.append(words((_FILTERED[lines.filter], "bold")))
        parts.append(words(("following" if view.follows else "not following", "$dim")))
        if lines.errors:
            parts.append(words((f"{figures.count(lines.errors)} error lines", "bold $error")))
        parts.append(words((f"{figures.count(len(lines))} lines", "$dim")))
        if self._left_out:
            parts.append(words((f"{figures.count(self._left_out)} lines of its middle dropped", "$warning")))
        return parts

    # Keys

    def action_search(self) -> None:
        line = self.query_one(SearchLine)
        line.add_class("-open")
        line.focus()

    def close_search(self) -> None:
        self.query_one(SearchLine).remove_class("-open")
        self.query_one(LogView).focus()

    @on(Input.Submitted)
    def _sought(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(LogView).seek(event.value)
        self.close_search()
        self._entitle()

    def action_step(self, by: int) -> None:
        self._said = "" if self.query_one(LogView).step(by) else "nothing is looked for"
        self._entitle()
        self._said = ""

    def action_filter(self) -> None:
        self.query_one(LogView).next_filter()
        self._entitle()

    def action_first(self) -> None:
        self.query_one(LogView).scroll_home(animate=False)

    def action_last(self) -> None:
        self.query_one(LogView).to_end()
        self._entitle()

    def action_copy(self) -> None:
        if (line := self.query_one(LogView).line) is not None:
            self.app.copy_to_clipboard(line)
            self._said = f"copied {len(line)} characters"
            self._entitle()
            self._said = ""

    def action_other(self, by: int) -> None:
        """The log of another engine of this session."""
        serving = self._snapshot.engine.log_path
        if self._path is None or serving is None:
            return
        logs = sorted(self._path.parent.glob("engine-*.log"), key=_number)
        at = (logs.index(self._path) if self._path in logs else 0) + by
        if 0 <= at < len(logs):
            self._chosen = None if logs[at] == serving else logs[at]
            self.show(self._snapshot)


def _number(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0
