"""Which snapshots are drawn: news at once, numbers that only move twice a second, for nobody reads faster."""

from typing import Any

from tui.session.snapshot import Snapshot

EVERY_S = 0.45
"""Less than two ticks of a session, more than one."""


class Pace:
    """By the snapshots' own clock, so that a picture of a session depends on nothing but the session."""

    def __init__(self) -> None:
        self._at = 0.0
        self._news: Any = None

    def due(self, snapshot: Snapshot) -> bool:
        """Whether to draw `snapshot`; one that is not drawn is followed by another within a tick."""
        news = _news(snapshot)
        if news == self._news and 0 < snapshot.now - self._at < EVERY_S:
            return False
        self._at, self._news = snapshot.now, news
        return True


    def moves(self, snapshot: Snapshot) -> bool:
        """Whether nothing but the numbers of a running replay is other than in what was drawn: they can wait for a key.

        In a session that is only read, the next picture may be what the key asked for.
        """
        return snapshot.run is not None and not snapshot.kept and _news(snapshot) == self._news


def _news(snapshot: Snapshot) -> Any:
    """What a person waits for, or has just asked for."""
    run, baseline = snapshot.run, snapshot.baseline
    return (
        snapshot.engine.state,
        snapshot.engine.phases[-1:] and snapshot.engine.phases[-1].name,
        None if run is None else (run.number, run.state),
        len(snapshot.runs),
        baseline and baseline.number,
        snapshot.levers,
        snapshot.recording,
        snapshot.notices[-1:],
    )
