"""The fold over a journal, at any moment of it: forwards by its events, backwards by the states kept on the way."""

from pathlib import Path

from tui.session.journal import Event
from tui.session.reopen.checkpoints import Checkpoints, copied
from tui.session.reopen.landmarks import Landmark, landmark
from tui.session.reopen.tape import Tape
from tui.session.state import State

AT_ONCE = 2_000  # events folded between two looks at the screen


class Reel:
    """`state` is what the first `number` events fold to; `go` moves both."""

    def __init__(self, folder: Path) -> None:
        self.tape = Tape(folder)
        self.landmarks: list[Landmark] = []
        self.unread = 0
        self._last = State(header=self.tape.header)
        self._folded = 0  # events in `_last`
        self._kept = Checkpoints(self._last)
        self.number = 0
        self.state = copied(self._last)

    def read_on(self) -> int:
        """Fold what was added to the journal, so many events at most; how many it was."""
        added = self.tape.extend(AT_ONCE)
        for event in added:
            if not _fold(self._last, event):
                self.unread += 1
            elif found := landmark(self._folded, self.tape.time(self._folded), event, self._last):
                self.landmarks.append(found)
            self._folded += 1
            self._kept.keep(self._folded, self._last)
        return len(added)

    @property
    def closed(self) -> bool:
        return self._last.closed

    def go(self, number: int) -> None:
        """Show the session as it was when `number` events had happened."""
        number = max(0, min(number, self._folded))
        if number == self._folded:
            self.state = copied(self._last)
        else:
            kept, state = self._kept.before(number)
            if kept <= self.number <= number:
                kept, state = self.number, self.state
            for event in self.tape.events(kept, number):
                _fold(state, event)
            self.state = state
        self.number = number


def _fold(state: State, event: Event) -> bool:
    """Whether the event could be understood; one that could not is passed over, the same way each time."""
    try:
        state.apply(event)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return False
    return True
