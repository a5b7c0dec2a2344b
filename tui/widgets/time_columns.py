"""A share over time as solid columns, one a cell, under a dashed level; what was not measured stays a gap."""

from bisect import bisect_left

from textual.content import Content

from tui.session.snapshot import Points
from tui.widgets.canvas import Canvas, axis
from tui.widgets.plot import GUTTER
from tui.widgets.timeline import Timeline


def columns(points: Points, line: Timeline, width: int, height: int, style: str, level: float | None) -> list[Content]:
    """`height` lines: shares of 0..1 with percent at the left and the time below; `level` is a share, too."""
    canvas = Canvas(width, height)
    floor, room = height - 2, width - GUTTER
    frame = line.frame(1.0, (), room)
    for x, share in enumerate(per_column(points, line, room)):
        if share is not None:
            canvas.column(GUTTER + x, floor, share * (floor + 1), style)
    scale = (room - 1) / line.length
    for at in frame.uprights:
        for y in range(floor + 1):
            canvas.put(GUTTER + round(at * scale), y, "┊", "$mark")
    if level is not None:
        canvas.level(floor - round(level * floor), GUTTER, width - 1, "$baseline")
    for share, label in ((1.0, "100%"), (0.5, " 50 "), (0.0, "  0 ")) if floor > 3 else ((1.0, "100%"),):
        canvas.text(0, floor - round(share * floor), label, "$dim")
    axis(canvas, height - 1, GUTTER, ((round(at * scale), label) for at, label in frame.x_ticks))
    return canvas.lines()


def per_column(points: Points, line: Timeline, count: int) -> list[float | None]:
    """For each of `count` equal parts of the line the window that covers it; of several, the one that is highest.

    A point tells of the time from the point before it to its own.
    """
    times = [at for at, _ in points]
    found: list[float | None] = []
    for column in range(count):
        first = bisect_left(times, line.start + line.length * column / count)
        last = bisect_left(times, line.start + line.length * (column + 1) / count)
        covering = points[first : max(first + 1, last)]
        found.append(max((value for _, value in covering if value is not None), default=None))
    return found
