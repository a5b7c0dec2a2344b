"""The time axis that the panels over time share: from the start of the run, with the levers' changes marked."""

from typing import NamedTuple

from textual.content import Content

from tui.session.snapshot import Points
from tui.widgets import figures
from tui.widgets.panel import words
from tui.widgets.plain import plain
from tui.widgets.plot import XY, Frame, decimate

_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


class Timeline(NamedTuple):
    """Epoch seconds `start` to `end`, drawn as seconds from `start`."""

    start: float
    end: float
    marks: tuple[tuple[float, str], ...] = ()

    @classmethod
    def of(cls, points: Points, marks: tuple[tuple[float, str], ...] = ()) -> "Timeline | None":
        """None when there are no two moments to draw between."""
        if len(points) < 2 or points[-1][0] <= points[0][0]:
            return None
        return cls(points[0][0], points[-1][0], marks)

    @property
    def length(self) -> float:
        return self.end - self.start

    def frame(self, top: float, y_ticks: tuple[tuple[float, str], ...], columns: int) -> Frame:
        step = next((s for s in _STEPS if self.length / s * 9 <= columns), _STEPS[-1])
        ticks = tuple((float(at), figures.clock(at)) for at in range(0, int(self.length) + 1, step))
        # A lever changes between runs: what changed before this one, or after it, is marked at its edge.
        marks = tuple(sorted({min(max(at, self.start), self.end) - self.start for at, _ in self.marks}))
        return Frame((0.0, self.length), (0.0, top), ticks, y_ticks, marks)

    def points(self, points: Points, columns: int) -> tuple[XY, ...]:
        kept = decimate(points, self.start, self.end, columns)
        return tuple((at - self.start, value) for at, value in kept)

    def level(self, value: float, columns: int) -> tuple[XY, ...]:
        """A horizontal line, one point a column."""
        last = max(1, columns - 1)
        return tuple((self.length * column / last, value) for column in range(columns))


def marked(marks: tuple[tuple[float, str], ...]) -> list[Content]:
    """For the words under a time line: what the newest mark is, with its glyph; nothing where no lever changed."""
    return [words(("┊ ", "$mark"), (plain(marks[-1][1], 40), "$dim"))] if marks else []
