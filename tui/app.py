"""The dashboard as an application: draws what the session tells, asks it for what the keys say."""

import asyncio
import importlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.driver import Driver
from textual.screen import Screen
from textual.timer import Timer

from tui.errors import Exit, VtuneError
from tui.screens import keymap
from tui.screens.dashboard import Dashboard
from tui.screens.garbage import Garbage
from tui.screens.pace import Pace
from tui.session.controls import Controls
from tui.session.late import Unopened
from tui.session.snapshot import EMPTY, Notice, Snapshot
from tui.widgets import key_names, look, plot
from tui.widgets.hint import Hint

_ENDING_SIGNALS = (signal.SIGHUP, signal.SIGTERM)
_ANSWERED_S = 0.2
"""What a key brings comes first: so long after it numbers wait that only move."""


class VtuneApp(App[None]):
    """`controls` is the session; it is closed when the app ends by key or signal, and never twice."""

    CSS_PATH = "app.tcss"
    TITLE = "vtune"
    FAREWELL = ("ending the engine", "again leaves at once")
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS = [
        Binding("l", "log", "log", id="log", tooltip="follow, search and filter the engine's log"),
        Binding("question_mark", "help", "help", id="help", tooltip="where you are: what it tells, and its keys"),
        Binding("q", "leave", "quit", id="quit", tooltip="end the engine and leave; asks while something runs"),
        Binding(
            "ctrl+p",
            "command_palette",
            "palette",
            show=False,
            priority=True,
            id="palette",
            tooltip="find a command by name",
        ),
        Binding(
            "ctrl+z", "suspend_process", "suspend", show=False, id="suspend", tooltip="back to the shell; fg returns"
        ),
        Binding("ctrl+q", "leave", "quit", show=False, priority=True),
        Binding("ctrl+c", "interrupt", "quit", show=False, priority=True, id="interrupt",
                tooltip="copy what is selected, else end the engine and leave without asking"),
    ]

    def __init__(self, controls: Controls, hint: bool = False) -> None:
        """`hint`: show the line for the first start, if it was not seen yet. Raises VtuneError for bad keys.yaml."""
        super().__init__()
        self._controls = controls
        self._hint = hint
        mapped = keymap.load()
        self.set_keymap(mapped)
        key_names.use(keymap.names(mapped))
        self._newest: Snapshot = EMPTY
        self._pace = Pace()
        self._garbage = Garbage()
        self._later: Timer | None = None  # a drawing that waits for what a key brings
        self._pressed = 0.0  # when the last key came, monotonic
        self._drawing = False
        self._leaving = False
        self.refusal: VtuneError | None = None
        """Why there was no session to show; the screen is left then."""
        for theme in (look.DARK, look.LIGHT, look.SIXTEEN):
            self.register_theme(theme)
        # Set as the one to begin with, not changed to: a change reads the whole stylesheet a second time.
        self.set_reactive(App.theme, look.DARK.name)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return look.role_defaults(self.current_theme)

    def get_driver_class(self) -> type[Driver]:
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":  # Windows, a browser
            return found
        from tui.screens.terminal import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> Screen[None]:
        return Dashboard(self._controls)

    @property
    def dashboard(self) -> Dashboard:
        screen = self.screen_stack[0]
        assert isinstance(screen, Dashboard)
        return screen

    def on_mount(self) -> None:
        if not self.is_headless:
            self.theme = look.fitting(self.console.color_system)
        loop = asyncio.get_running_loop()
        for number in _ENDING_SIGNALS:
            loop.add_signal_handler(number, self._end_by_signal, number)
        self._controls.subscribe(self._arrive)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """What can wait for the first paint."""
        self._garbage.begin()
        self.set_interval(0.25, lambda: self._garbage.look(self._pressed, alone=len(self.screen_stack) == 1))
        if self._hint:
            self.dashboard.query_one(Hint).begin()
        self.run_worker(self._open(), name="start", group="hands")
        self.run_worker(_load, name="load", thread=True)

    async def _open(self) -> None:
        try:
            await self.dashboard.hands.start()
        except Unopened as refusal:
            self.refusal = refusal
            self.exit(return_code=refusal.code)

    def on_unmount(self) -> None:
        self._garbage.end()
        loop = asyncio.get_running_loop()
        for number in _ENDING_SIGNALS:
            loop.remove_signal_handler(number)

    # Drawing

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self._pressed = time.monotonic()
        await super().on_event(event)

    def _arrive(self, snapshot: Snapshot) -> None:
        """Keep the newest; when drawing takes longer than a tick, the ones between are never drawn."""
        self._newest = snapshot
        if not self.is_running or not self._terminal_follows():
            return
        moves = self._pace.moves(snapshot)
        if self._later is not None and not moves:
            self._later.stop()
            self._later, self._drawing = None, False
        if self._drawing or not self._pace.due(snapshot):
            return
        self._drawing = True
        wait = self._pressed + _ANSWERED_S - time.monotonic()
        if moves and wait > 0:
            self._later = self.set_timer(wait, self._draw)
        else:
            self.call_later(self._draw)

    def _terminal_follows(self) -> bool:
        """Whether what is drawn reaches anyone; what was left out while it didn't is drawn now."""
        driver = self._driver
        if driver is None or not getattr(driver, "behind", False):
            return True
        if not driver.flows:
            return False
        driver.caught_up()
        self.refresh(layout=True)
        return True

    def _draw(self) -> None:
        self._drawing, self._later = False, None
        with self.batch_update():
            for screen in self.screen_stack:
                if hasattr(screen, "show"):
                    screen.show(self._newest)

    # Keys

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from tui.screens.commands import commands

        yield from commands(self.dashboard, self._newest)
        yield SystemCommand("log: show", "Follow, search and filter the engine's log", self.action_log)
        yield SystemCommand("theme: change", "Choose the colours", self.action_change_theme)
        yield SystemCommand("help: show", "Where you are: what it tells, and its keys", self.action_help)
        yield SystemCommand("vtune: suspend", "Back to the shell; fg returns", self.action_suspend_process)
        yield SystemCommand("vtune: quit", "End the engine and leave", self.action_leave)

    def action_command_palette(self) -> None:
        from tui.screens.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette("Commands", self.get_system_commands(self.screen)), self._command)

    def search_themes(self) -> None:
        from tui.screens.palette import Palette

        names = sorted(self.available_themes)
        themes = [SystemCommand(name, "in use" if name == self.theme else "", partial(setattr, self, "theme", name))
                  for name in names]  # fmt: skip
        self.push_screen(Palette("Theme", themes, names.index(self.theme)), self._command)

    def _command(self, command: SystemCommand | None) -> None:
        if command is not None:
            self.call_later(command.callback)

    def action_log(self) -> None:
        from tui.screens.log import LogScreen

        screen = LogScreen()
        self.push_screen(screen)
        self.call_after_refresh(screen.show, self._newest)

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen, here
        from tui.widgets.lever_list import LeverList

        bindings = [*LeverList.BINDINGS, *Dashboard.BINDINGS, *self.BINDINGS]
        self.push_screen(HelpScreen((one for one in bindings if isinstance(one, Binding)), here(self.screen)))

    def action_leave(self) -> None:
        self.run_worker(self._ask_and_leave(), name="leave", group="leave", exclusive=True)

    def action_interrupt(self) -> None:
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        else:
            self.run_worker(self._leave(0), name="leave", group="leave")

    async def _ask_and_leave(self) -> None:
        running = self._newest.run is not None
        if (running or self._newest.recorder is not None) and not self._leaving:
            from tui.screens.confirm import Answer, Confirm

            question = Confirm(
                f"{'A replay' if running else 'The recorder'} is running. Leave and end it?",
                Answer("y", f"leave: end {'replay' if running else 'recorder'} and engine", "leave"),
                Answer("s", "stay", "stay"),
            )
            if await self.push_screen_wait(question) != "leave":
                return
        await self._leave(0)

    def _end_by_signal(self, number: signal.Signals) -> None:
        leave = self._leave_unseen if _terminal_is_gone() else self._leave
        self.run_worker(leave(128 + number), name="leave", group="leave")

    async def _leave_unseen(self, code: int) -> None:
        """Close the session without a word: whatever is written to a terminal that is gone waits for ever."""
        self._drawing = True  # so that nothing more is drawn
        with suppress(VtuneError):
            await self._controls.close()
        os._exit(code)

    async def _leave(self, code: int) -> None:
        """Close the session, then the screen; asked again while closing, leave at once: the keeper ends the engine."""
        if self._leaving:
            self.exit(return_code=Exit.INTERRUPTED)
            return
        self._leaving = True
        self.dashboard.say(Notice(self._newest.now, "info", *self.FAREWELL))
        try:
            await self._controls.close()
        except VtuneError as refusal:
            self.exit(return_code=refusal.code, message=f"vtune: {refusal.what}\n  mend: {refusal.mend}")
        else:
            self.exit(return_code=code)


def _load() -> None:
    """Plots, and what keys open: loaded while nobody waits for them."""
    plot.load()
    for name in ("help", "log", "palette", "choose", "confirm", "prompt", "copying"):
        importlib.import_module(f"tui.screens.{name}")


def _terminal_is_gone() -> bool:
    """A terminal that was closed is no terminal any more."""
    return not any(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stderr__))
