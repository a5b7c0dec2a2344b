"""Bars of requests on a clock that ends now: packed into lanes, or a line each with name and time; pure."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from tui.widgets import figures
from tui.widgets.canvas import Canvas, fit
from tui.widgets.panel import words
from tui.widgets.plain import plain

GLYPHS = {"queued": "▒", "prefill": "█", "decode": "░"}
_STYLES = {"queued": "$unknown", "prefill": "$prefill", "decode": "$decode"}
_SPANS = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1_200, 3_600)
_CELLS = 7
"""Cells that the middle request should take at least."""
_LABEL = 14
"""Cells that a name gets at most; its end tells requests apart."""


class Bar(NamedTuple):
    """Seconds from the start of the run: due, where its prefill starts, its first token, its end or now."""

    id: str
    due: float
    started: float
    first: float
    end: float
    status: str  # "" while it is in flight, else ok, failed, cancelled


def span_of(bars: Sequence[Bar], now: float, width: int) -> float:
    """Seconds to show, so that the middle request is wide enough to read; never more than the run is old."""
    typical = max(0.05, sorted(bar.end - bar.due for bar in bars)[len(bars) // 2])
    wanted = width * typical / _CELLS
    return min(next((span for span in _SPANS if span >= wanted), _SPANS[-1]), max(now, 1.0))


def lanes(bars: Sequence[Bar], now: float, span: float, width: int, height: int) -> list[Content]:
    """Each request in the first lane that is free when it is due; how many in flight found none is told at the end."""
    lines, left_out = _packed(bars, now, span, width, height)
    if not left_out or width <= 20:
        return lines
    more = f"+{left_out}".rjust(5)
    *others, last = _packed(bars, now, span, width - len(more), height)[0]
    return [*others, words(last, (more, "$mark"))]


def _packed(
    bars: Sequence[Bar], now: float, span: float, width: int, height: int
) -> tuple[list[Content], int]:  # the lanes, and how many in flight are not in them
    canvas = Canvas(width, height)
    start, scale = now - span, width / span
    free, left_out = [-1] * height, 0
    for bar in bars:
        if bar.end < start:
            continue
        first, last = _cell(bar.due, start, scale, width), _cell(bar.end, start, scale, width)
        lane = next((number for number, cell in enumerate(free) if cell < first), None)
        if lane is None:
            left_out += not bar.status
            continue
        _bar(canvas, lane, bar, start, scale, width)
        free[lane] = max(first + 1, last)
    return canvas.lines(), left_out


def rows(bars: Sequence[Bar], now: float, width: int, height: int) -> list[Content]:
    """A line a request, those in flight first to stay; the newest at the bottom, seconds at the right."""
    flying = [bar for bar in bars if not bar.status][-height:]
    ended = [bar for bar in bars if bar.status]
    shown = sorted((*flying, *ended[len(ended) - (height - len(flying)) :]), key=lambda bar: (bar.due, bar.id))
    shown = shown[-height:]
    names = [fit(name, min(_LABEL, cell_len(name))) for bar in shown for name in [plain(bar.id, 200)]]
    label = max(cell_len(name) for name in names)
    room = max(1, width - label - 10)
    start = min(bar.due for bar in shown)
    scale = room / max(1.0, now - start)
    canvas = Canvas(room, len(shown))
    for row, bar in enumerate(shown):
        _bar(canvas, row, bar, start, scale, room)
    lines = []
    for name, bar, drawn in zip(names, shown, canvas.lines(), strict=True):
        style = "" if not bar.status else "$dim"
        spent = figures.seconds(max(0.0, bar.end - bar.due))
        lines.append(words((fit(name, label, right=True), style), " ", drawn, (f" {spent:<8}", style)))
    return lines


def _cell(moment: float, start: float, scale: float, width: int) -> int:
    return max(0, min(width, round((moment - start) * scale)))


def _bar(canvas: Canvas, row: int, bar: Bar, start: float, scale: float, width: int) -> None:
    """At least a cell, of the phase that took longest of those that would get none."""
    edges = [_cell(moment, start, scale, width) for moment in (bar.due, bar.started, bar.first, bar.end)]
    if edges[0] == edges[3]:
        edges = [min(edges[0], width - 1)] * 3 + [min(edges[0], width - 1) + 1]
    for phase, first, last in zip(_STYLES, edges, edges[1:], strict=False):
        for x in range(first, last):
            canvas.put(x, row, GLYPHS[phase], _STYLES[phase])
    if bar.status in ("failed", "cancelled"):
        canvas.put(max(edges[0], edges[3] - 1), row, "✕", "bold $error")
