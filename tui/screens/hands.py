"""What the keys do: each asks first where it must, and a refusal becomes a line of words.

The screens that ask are loaded when they are asked for: the first paint does not wait for them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from textual.app import App

from tui import paths
from tui.errors import VtuneError
from tui.session.controls import Controls
from tui.session.late import Unopened
from tui.session.snapshot import Notice, RunView, Snapshot
from tui.widgets.key_names import key

if TYPE_CHECKING:
    from tui.screens.choose import Choice

_SHOWN = 60
"""Characters up to which a copied text is shown."""

NOTHING_S = 4.0
"""Long enough to read why a key had nothing to do."""

Say = Callable[[Notice, float | None], None]
"""A line, and for how many seconds; None: as long as its level is worth."""


class Hands:
    """Calls the session's controls; its coroutines run in workers of the screen."""

    def __init__(self, app: App[None], controls: Controls, snapshot: Callable[[], Snapshot], say: Say) -> None:
        self._app = app
        self._controls = controls
        self._snapshot = snapshot
        self._say = say
        self._touched: Snapshot | None = None  # the snapshot on which a lever was set last
        self._before: list[tuple[str, str]] = []  # lever, the value before each change that may be taken back

    @property
    def pending(self) -> bool:
        """Whether a lever is changed, be it by a key that the snapshot does not know yet."""
        return bool(self._snapshot().pending) or self._touched is self._snapshot()

    async def start(self) -> None:
        """Raises Unopened where there is nothing to be shown."""
        with self._refusals():
            await self._controls.start()

    async def apply(self) -> None:
        snapshot = self._snapshot()
        if not self.pending:
            keys = f"{key('lever.toggle')} or {key('lever.edit')}"
            self.nothing("no lever is changed", f"{keys} on a lever changes it")
            return
        running: Literal["drain", "cancel"] = "drain"
        if snapshot.run is not None:
            answer = await self._ask("A replay is running. Applying restarts the engine.", *_ENDINGS)
            if answer not in ("drain", "cancel"):
                return
            running = "drain" if answer == "drain" else "cancel"
        with self._refusals():
            await self._controls.apply(running)

    async def replay(self) -> None:
        with self._refusals():
            await self._controls.replay()

    async def cancel(self) -> None:
        if self._snapshot().run is None:
            self.nothing("no replay is running", f"{key('replay')} starts one")
            return
        answer = await self._ask("End the running replay?", *_ENDINGS)
        if answer in ("drain", "cancel"):
            with self._refusals():
                await self._controls.cancel_replay("drain" if answer == "drain" else "cancel")

    async def hold(self) -> None:
        """Pause the replay, or let it go on."""
        run = self._snapshot().run
        with self._refusals():
            await self._controls.hold_replay(run is None or run.state != "paused")

    async def restart(self) -> None:
        if self._snapshot().run is not None:
            answers = (("y", "restart now", "restart"), ("n", "stay", "stay"))
            if await self._ask("A replay is running. Restarting the engine ends it.", *answers) != "restart":
                return
        with self._refusals():
            await self._controls.restart()

    async def export(self) -> None:
        with self._refusals():
            path = await self._controls.export()
            self.tell("info", f"report written to {path}")

    async def end_engine(self) -> None:
        running = " A replay is running: it ends too." if self._snapshot().run is not None else ""
        answers = (("y", "end the engine", "end"), ("s", "stay", "stay"))
        if await self._ask(f"End the engine?{running}", *answers) == "end":
            with self._refusals():
                await self._controls.end_engine()

    async def choose_recording(self) -> None:
        from tui.screens.choose import Choice
        from tui.traffic.recording import SUFFIXES

        now = self._snapshot().recording
        names = paths.names("recordings", SUFFIXES)
        if not names:
            self.nothing("no recording found", f"{key('record')} records one")
            return
        choices = [Choice(name, "replayed next" if name == now else "", name) for name in names]
        at = names.index(now) if now in names else 0
        if (choice := await self._choose("Recording to replay", choices, at)) is not None:
            await self.use_recording(choice.value)

    async def use_recording(self, name: str) -> None:
        with self._refusals():
            await self._controls.use_recording(name)
            self.tell("info", f"the next replay sends {name}")

    async def record(self) -> None:
        """Start the recorder on a port that is asked for, or stop it."""
        from tui.screens.prompt import Prompt
        from tui.traffic.recorder.spec import DEFAULT_LISTEN

        recorder = self._snapshot().recorder
        if recorder is None:
            tells = "Clients that send their calls there are answered by the engine, and recorded. 0: any free port."
            prompt = Prompt("Record on which port of 127.0.0.1?", tells, str(DEFAULT_LISTEN[1]), _port_fault)
            if (port := await self._app.push_screen_wait(prompt)) is not None:
                with self._refusals():
                    await self._controls.record(int(port))
            return
        question = f"Stop the recorder? {recorder.kept} calls are kept; its address answers nobody then."
        answers = (("y", "stop, and replay what was recorded next", "stop"), ("g", "go on recording", "stay"))
        if await self._ask(question, *answers) == "stop":
            with self._refusals():
                await self._controls.stop_recording()

    def set_lever(self, name: str, value: str) -> None:
        before = next((one.pending or one.asked for one in self._snapshot().levers if one.name == name), None)
        with self._refusals():
            self._controls.set_lever(name, value)
            self._touched = self._snapshot()
            if before is not None and before != value:
                self._before.append((name, before))

    def undo(self) -> None:
        """Take back the last change that is not applied; where it is not known which was the last, all of them."""
        if not self.pending:
            self._before.clear()
            self.nothing("no change to undo", "applied levers are changed back like any other")
            return
        waiting = {lever.name for lever in self._snapshot().pending}
        if self._before and self._touched is self._snapshot():
            waiting.add(self._before[-1][0])
        while self._before and waiting:
            name, value = self._before.pop()
            if name in waiting:
                with self._refusals():
                    self._controls.set_lever(name, value)
                return
        self.drop()

    def drop(self) -> None:
        self._before.clear()
        if not self.pending:
            self.nothing("no change to drop")
            return
        with self._refusals():
            self._controls.undo()

    async def copy(self, area: str, run: RunView | None) -> None:
        """Let a number of `area` be chosen, and copy it; `run` is the one under the cursor."""
        from tui.screens import copying

        choices = copying.choices(self._snapshot(), area, run)
        if not choices:
            self.nothing("nothing to copy yet")
            return
        if (choice := await self._choose("Copy", choices)) is not None:
            self._copied(choice.words, choice.value)

    def copy_command(self) -> None:
        from tui.screens import copying

        if line := copying.command_line(self._snapshot()):
            self._copied("the engine's command line", line)
        else:
            self.nothing("no command line to copy", "vtune did not start this engine")

    def _copied(self, name: str, value: str) -> None:
        self._app.copy_to_clipboard(value)
        shown = value if len(value) <= _SHOWN else f"{len(value)} characters"
        # OSC 52 has no answer: whether the terminal took it can't be known.
        self.tell("info", f"copied {name}: {shown}", "if nothing pastes, let your terminal take OSC 52")

    def baseline(self, number: int | None) -> None:
        if number is None:
            self.nothing("no run to compare to yet", f"{key('replay')} replays the recording")
            return
        with self._refusals():
            self._controls.set_baseline(number)

    def tell(self, level: Literal["info", "warning", "error"], what: str, mend: str | None = None) -> None:
        """A line of the screen's own."""
        self._say(Notice(self._snapshot().now, level, what, mend), None)

    def nothing(self, what: str, mend: str | None = None) -> None:
        """Why a key had nothing to do."""
        self._say(Notice(self._snapshot().now, "info", what, mend), NOTHING_S)

    async def _ask(self, question: str, *answers: tuple[str, str, str]) -> str | None:
        """Of each answer its key, its words and the value that comes back."""
        from tui.screens.confirm import Answer, Confirm

        return await self._app.push_screen_wait(Confirm(question, *(Answer(*one) for one in answers)))

    async def _choose(self, title: str, choices: "list[Choice]", at: int = 0) -> "Choice | None":
        from tui.screens.choose import Choose

        return await self._app.push_screen_wait(Choose(title, choices, at))

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except Unopened:
            raise
        except VtuneError as refusal:
            self.tell("error", refusal.what, refusal.mend)


def _port_fault(line: str) -> str | None:
    sound = line.isascii() and line.isdigit() and int(line) <= 65_535
    return None if sound else "a port is a number from 1 to 65535; 0 takes a free one"


_ENDINGS = (
    ("d", "drain: let requests in flight finish", "drain"),
    ("c", "cancel: end them now", "cancel"),
    ("s", "stay: change nothing", "stay"),
)
