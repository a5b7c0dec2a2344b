"""The events of a journal on disk, found by their number; in memory is only where each begins and when it happened."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from tui.session import journal
from tui.session.journal import Event


class Tape:
    """Grows by `extend`, which reads on where it stopped: another vtune may still be writing."""

    def __init__(self, folder: Path) -> None:
        """Raises VtuneError where there is no journal, or one of a newer version."""
        self.header, _ = journal.read(folder)
        self._path = folder / journal.NAME
        self._begins = array("Q")  # offset of each event
        self._times = array("d")  # epoch seconds, never falling: a clock may be set back
        with self._path.open("rb") as file:
            self._end = len(file.readline())
        self.bytes = self._path.stat().st_size

    def __len__(self) -> int:
        return len(self._times)

    @property
    def read_bytes(self) -> int:
        """How far `extend` has come."""
        return self._end

    @property
    def start(self) -> float:
        return self._times[0] if self._times else 0.0

    @property
    def end(self) -> float:
        return self._times[-1] if self._times else 0.0

    def time(self, number: int) -> float:
        return self._times[number]

    def until(self, moment: float) -> int:
        """How many events had happened by `moment`."""
        return bisect_right(self._times, moment)

    def extend(self, most: int | None = None) -> list[Event]:
        """The whole lines that were added since the last call, at most so many."""
        added: list[Event] = []
        with self._path.open("rb") as file:
            file.seek(self._end)
            for line in file:
                if (event := journal.parsed(line)) is None:
                    break  # cut there, or not written to its end yet
                self._begins.append(self._end)
                self._times.append(max(self.end, _moment(event, self.end)))
                self._end += len(line)
                added.append(event)
                if len(added) == most:
                    break
        self.bytes = max(self._end, self._path.stat().st_size)
        return added

    def events(self, first: int, last: int) -> Iterator[Event]:
        """Events `first` up to, not including, `last`."""
        if first >= last:
            return
        with self._path.open("rb") as file:
            file.seek(self._begins[first])
            for _ in range(first, last):
                event = journal.parsed(file.readline())
                if event is None:
                    return  # the file was changed under us
                yield event


def _moment(event: Event, fallback: float) -> float:
    at = event.get("t")
    return float(at) if isinstance(at, (int, float)) else fallback
