"""What the keys do: each asks first where it must, and a refusal becomes a line of words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from textual.app import App

from tui.errors import VtuneError
from tui.screens.confirm import Answer, Confirm
from tui.session.controls import Controls
from tui.session.snapshot import Notice, Snapshot

Say = Callable[[Notice], None]


class Hands:
    """Calls the session's controls; its coroutines run in workers of the screen."""

    def __init__(self, app: App[None], controls: Controls, snapshot: Callable[[], Snapshot], say: Say) -> None:
        self._app = app
        self._controls = controls
        self._snapshot = snapshot
        self._say = say
        self._touched: Snapshot | None = None  # the snapshot on which a lever was set last

    @property
    def pending(self) -> bool:
        """Whether a lever is changed, be it by a key that the snapshot does not know yet."""
        return bool(self._snapshot().pending) or self._touched is self._snapshot()

    async def start(self) -> None:
        with self._refusals():
            await self._controls.start()

    async def apply(self) -> None:
        snapshot = self._snapshot()
        if not self.pending:
            self.tell("info", "no lever is changed", "space or enter on a lever changes it")
            return
        running: Literal["drain", "cancel"] = "drain"
        if snapshot.run is not None:
            question = Confirm("A replay is running. Applying restarts the engine.", *_ENDINGS)
            answer = await self._app.push_screen_wait(question)
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
            self.tell("info", "no replay is running", "r starts one")
            return
        answer = await self._app.push_screen_wait(Confirm("End the running replay?", *_ENDINGS))
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
            question = Confirm(
                "A replay is running. Restarting the engine ends it.",
                Answer("y", "restart now", "restart"),
                Answer("n", "stay", "stay"),
            )
            if await self._app.push_screen_wait(question) != "restart":
                return
        with self._refusals():
            await self._controls.restart()

    async def export(self) -> None:
        with self._refusals():
            path = await self._controls.export()
            self.tell("info", f"report written: {path}")

    def set_lever(self, name: str, value: str) -> None:
        with self._refusals():
            self._controls.set_lever(name, value)
            self._touched = self._snapshot()

    def undo(self) -> None:
        if not self.pending:
            self.tell("info", "nothing to undo")
            return
        with self._refusals():
            self._controls.undo()

    def baseline(self, number: int | None) -> None:
        if number is None:
            self.tell("info", "no run to compare to yet", "r replays the recording")
            return
        with self._refusals():
            self._controls.set_baseline(number)

    def tell(self, level: Literal["info", "warning", "error"], what: str, mend: str | None = None) -> None:
        """A line of the screen's own."""
        self._say(Notice(self._snapshot().now, level, what, mend))

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except VtuneError as refusal:
            self.tell("error", refusal.what, refusal.mend)


_ENDINGS = (
    Answer("d", "drain: let requests in flight finish", "drain"),
    Answer("c", "cancel: end them now", "cancel"),
    Answer("s", "stay: change nothing", "stay"),
)
