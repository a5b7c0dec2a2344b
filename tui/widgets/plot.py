"""The only file that knows plotext: series in, lines of Content out.

plotext 6 keeps one master figure, so `draw` clears, draws and builds in one go, on the thread of the screen only.
It paints with role numbers instead of colours (foreground ``(role, 0, 0)``), which come back as style names: a drawn
plot stays right when the theme changes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from textual.content import Content

_PAINT = re.compile(r"\x1b\[([0-9;]*)m")

GUTTER = 4
"""Cells that the labels of the panels' y axes take."""

XY = tuple[float, float | None]
_x, _y = itemgetter(0), itemgetter(1)


class Series(NamedTuple):
    """Points of one role. `marker` is ``braille`` or one character; None in y leaves a gap."""

    points: tuple[XY, ...]
    role: str
    marker: str = "braille"
    kind: Literal["line", "area", "stems", "points"] = "line"


class Frame(NamedTuple):
    """Limits and ticks; `uprights` are vertical marks over the whole height."""

    x: tuple[float, float]
    y: tuple[float, float]
    x_ticks: tuple[tuple[float, str], ...] = ()
    y_ticks: tuple[tuple[float, str], ...] = ()
    uprights: tuple[float, ...] = ()


def load() -> None:
    """Import plotext now, so that the first plot does not wait for it."""
    _plotext()


def decimate(points: Sequence[XY], low: float, high: float, buckets: int) -> tuple[XY, ...]:
    """The highest value in each of `buckets` equal parts of low..high: a plot of a long run costs no more.

    Points come in order of x. A bucket that holds only None stays a gap; an empty one is left out.
    """
    if high <= low or buckets < 1:
        return ()
    kept = []
    start = bisect_left(points, low, key=_x)
    for index in range(1, buckets + 1):
        edge = low + (high - low) * index / buckets
        end = (
            bisect_right(points, edge, start, key=_x) if index == buckets else bisect_left(points, edge, start, key=_x)
        )
        part = points[start:end]
        if part:
            known = [point for point in part if point[1] is not None]
            kept.append(max(known, key=_y) if known else part[0])
        start = end
    return tuple(kept)


def draw(width: int, height: int, frame: Frame, series: Iterable[Series]) -> list[Content]:
    """Exactly `height` lines of `width` cells; an area too small to hold a plot is left blank."""
    if width < 8 or height < 2:
        return [Content.blank(max(0, width))] * max(0, height)
    figure, marker, pixel = _plotext()
    roles = ["dim", "faint"]

    def paint(role: str) -> tuple[int, int, int]:
        if role not in roles:
            roles.append(role)
        return (roles.index(role) + 1, 0, 0)

    figure.clear.data()
    figure.clear.settings()
    figure.clear.pixels()
    figure.canvas("default")
    figure.plot_size(width, height)
    figure.axes(False)
    for axis, limits, ticks in ((0, frame.x, frame.x_ticks), (1, frame.y, frame.y_ticks)):
        ruler = figure.ruler(axis, 0)
        ruler.lim(*limits)
        ruler.ticks([at for at, _ in ticks], [label for _, label in ticks])
        ruler.pixel(pixel(paint("dim")))
    for one in (*series, *_uprights(frame, height)):
        _add(figure, one, marker(one.marker, paint(one.role)), frame.y[0])
    return _lines(figure.build().string(), roles, width, height)


def _uprights(frame: Frame, height: int) -> Iterable[Series]:
    low, high = frame.y
    rows = tuple(low + (high - low) * row / (height - 1) for row in range(height))
    for at in frame.uprights:
        yield Series(tuple((at, y) for y in rows), "mark", "┊", "points")


def _add(figure: Any, series: Series, marker: Any, floor: float) -> None:
    if series.kind in ("stems", "points"):
        known = [(x, y) for x, y in series.points if y is not None]
        if known:
            signal = figure.signal([x for x, _ in known], [y for _, y in known], marker=marker)
            figure.draw(signal.fillx(True) if series.kind == "stems" else signal)
        return
    run: list[tuple[float, float]] = []
    for x, y in (*series.points, (0.0, None)):
        if y is not None:
            run.append((x, max(y, floor)))
        elif run:
            signal = figure.signal([x for x, _ in run], [y for _, y in run], marker=marker).lines(True)
            figure.draw(signal.fillx(True) if series.kind == "area" else signal)
            run = []


def _lines(ansi: str, roles: list[str], width: int, height: int) -> list[Content]:
    lines = []
    for row in ansi.split("\n")[:height]:
        parts: list[tuple[str, str]] = []
        style = ""
        # split() with one group gives text, codes, text, codes, ...
        for index, piece in enumerate(_PAINT.split(row)):
            if index % 2 == 0:
                if piece:
                    parts.append((piece, style))
            elif piece.startswith("38;2;"):
                style = f"${roles[int(piece.split(';')[2]) - 1]}"
            elif piece in ("", "0"):
                style = ""
        lines.append(Content.assemble(*parts))
    return lines + [Content.blank(width)] * (height - len(lines))


@cache
def _plotext() -> tuple[Any, Any, Any]:
    """plotext's figure, marker and pixel. Imported on first use: it takes longer than the first paint may."""
    import plotext

    plotext.terminal.limit(False, False)
    return plotext.figure, plotext.marker, plotext.pixel
