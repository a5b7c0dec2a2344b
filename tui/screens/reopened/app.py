"""The application on a kept session: the same screen, nothing to end when it is left."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen

import tui.app
from tui.screens.dashboard import Dashboard
from tui.screens.reopened.dashboard import ReopenedDashboard
from tui.session.reopen import Player
from tui.widgets.plain import plain

# Keys of the dashboard that do the same here.
_KEPT = ("baseline", "export", "maximise", "copy", "copy-command", "next", "previous", "back")


class ReopenedApp(tui.app.VtuneApp):
    """Shows what `player` plays."""

    FAREWELL = ("closing", "")
    CSS_PATH = Path(tui.app.__file__).with_name("app.tcss")

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._player = player

    def get_default_screen(self) -> Screen[None]:
        return ReopenedDashboard(self._player)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        board = self.dashboard
        assert isinstance(board, ReopenedDashboard)
        yield SystemCommand("session: play or pause", "Go on in the session's own time", board.action_play)
        yield SystemCommand("session: go to", "A time, a run, a share of it", board.action_place)
        yield SystemCommand("session: to its end", "What it came to", partial(board.action_share, 1))
        for run in self._newest.runs:
            title = f"run: {run.number} as baseline"
            yield SystemCommand(title, plain(run.label), partial(board.hands.baseline, run.number))
        yield SystemCommand("report: export", "Write the report of this session", partial(board.action_hands, "export"))
        yield SystemCommand("area: maximise or restore", "Show this area alone, or all again", board.action_maximise)
        yield SystemCommand("log: show", "Read the engine's log", self.action_log)
        yield SystemCommand("theme: change", "Choose the colours", self.action_change_theme)
        yield SystemCommand("help: show", "Keys, and what each panel tells", self.action_help)
        yield SystemCommand("vtune: quit", "Leave", self.action_leave)

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen, here

        kept = [one for one in Dashboard.BINDINGS if one.id in _KEPT or (one.id or "").startswith("area.")]
        bindings = [*ReopenedDashboard.BINDINGS, *kept, *self.BINDINGS]
        self.push_screen(HelpScreen((one for one in bindings if isinstance(one, Binding)), here(self.screen)))

    async def _ask_and_leave(self) -> None:
        """Nothing runs that could be lost."""
        await self._leave(0)
