"""What the screen may ask of a session. `Session` is the real one; tests of the screen use their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from tui.session.snapshot import Snapshot


class Controls(Protocol):
    """Every method raises VtuneError (what, mend) where it refuses; none blocks the event loop."""

    def subscribe(self, listener: Callable[[Snapshot], None]) -> None:
        """`listener` gets every new Snapshot, on the event loop: up to four a second, and at once what it asked for."""

    async def start(self) -> None:
        """Start (or attach to) the engine; returns at once, the snapshots tell how it goes."""

    def set_lever(self, name: str, value: str) -> None:
        """Ask for `value` (words of --set); pending until applied. Setting the asked value undoes."""

    def undo(self) -> None:
        """Drop every pending change."""

    async def apply(self, running: Literal["drain", "cancel"] = "drain") -> None:
        """End the running replay as told, restart the engine with the pending levers, prove, warm up."""

    async def replay(self) -> None:
        """Replay the recording on the running engine; returns when it has started."""

    async def cancel_replay(self, how: Literal["drain", "cancel"] = "cancel") -> None:
        """Stop sending; `drain` lets running requests finish."""

    async def hold_replay(self, paused: bool) -> None:
        """Send no further request for now, or go on; what was not due yet is put off by the length of the pause."""

    def set_baseline(self, number: int) -> None:
        """Make run `number` the one that the others are compared to."""

    async def export(self) -> Path:
        """Write the Markdown report of the session into its folder."""

    async def restart(self) -> None:
        """Start the engine again with the levers as asked (after a failure, or by hand)."""

    async def end_engine(self) -> None:
        """End the engine, and parked ones; `restart` starts one again."""

    async def use_recording(self, ref: str) -> None:
        """Replay another recording, a path or a name, from the next replay on."""

    async def record(self, port: int) -> None:
        """Put the recorder in front of the engine, at loopback `port` (0: a free one)."""

    async def stop_recording(self) -> None:
        """End the recorder; what it kept is replayed next."""

    async def close(self) -> None:
        """End replay and engine, close the journal."""
