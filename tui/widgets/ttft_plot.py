"""The TTFT histogram: stacked bars of the run's classes, the baseline as an outline over them, p50 and p95 above."""

from collections.abc import Sequence
from math import ceil

from textual.content import Content

from tui.widgets.canvas import Canvas, axis
from tui.widgets.histogram import LogAxis, p95, quantile
from tui.widgets.look import GLYPHS

GUTTER = 4
"""Cells that the counts take at the left."""

Times = tuple[float, ...]  # sorted, seconds


def histogram(
    classes: tuple[tuple[str, Times], ...], baseline: Times, width: int, height: int, narrow: bool = False
) -> list[Content]:
    """`height` lines; the counts at the left, the seconds below, on a logarithmic axis that holds every value."""
    everything = [time for _, times in classes for time in times] + list(baseline)
    scale = LogAxis.around(everything, width - GUTTER)
    n = max(sum(len(times) for _, times in classes), len(baseline))
    step = 1 if n >= 400 and not narrow else 2 if n >= 80 else 3
    canvas = Canvas(width, height)
    floor = height - 2  # the ticks are below it, the marks on row 0
    stacks = [(reuse, scale.counts(times, step)) for reuse, times in classes]
    outline = scale.counts(baseline, step) if baseline else []
    totals = [sum(column) for column in zip(*(counts for _, counts in stacks), strict=True)]
    top = round_up(max((*totals, *outline)))
    per_request = floor / top  # rows
    _bars(canvas, stacks, per_request, step, floor, scale.columns)
    if outline:
        _outline(canvas, [round(max(1.0, count * per_request)) if count else 0 for count in outline], step, floor)
    _marks(canvas, classes, baseline, scale)
    for share in (0.5, 1.0) if floor > 3 else (1.0,):
        canvas.text(0, floor + 1 - round(floor * share), f"{round(top * share):>{GUTTER - 1}}", "$dim")
    axis(canvas, height - 1, GUTTER, scale.ticks())
    return canvas.lines()


def round_up(most: int) -> int:
    """An even number of requests at the top of the axis."""
    step = 2 if most <= 20 else 10 if most <= 50 else 10 ** max(1, len(str(most)) - 2) * 5
    return max(2, ceil(most / step) * step)


def _bars(
    canvas: Canvas, stacks: Sequence[tuple[str, list[int]]], scale: float, step: int, floor: int, columns: int
) -> None:
    """Cold on the floor; wide bins leave one cell free, so that they read as bars."""
    for index in range(len(stacks[0][1])):
        below, rows = 0, 0
        for reuse, counts in stacks:
            if not counts[index]:
                continue
            below += counts[index]
            value = max(below * scale - rows, 0.125)
            for x in range(index * step, min(columns, (index + 1) * step - (step > 2))):
                canvas.column(GUTTER + x, floor - rows, value, f"${reuse}", GLYPHS[reuse])
            rows += max(1, round(value))


def _outline(canvas: Canvas, heights: list[int], step: int, floor: int) -> None:
    """The edge of the baseline's bars as a dashed staircase."""
    before = 0
    for index, height in enumerate((*heights, 0)):
        x = GUTTER + index * step
        high, low = floor + 1 - max(before, height), floor + 1 - min(before, height)
        if height != before:
            for y in range(high + 1, min(low, floor + 1)):
                _edge(canvas, x, y, "┆")
            _edge(canvas, x, high, "┌" if height > before else "┐")
            if low <= floor:
                _edge(canvas, x, low, "┘" if height > before else "└")
        if height:
            for at in range(x + (height != before), x + step):
                _edge(canvas, at, floor + 1 - height, "┄")
        before = height


def _edge(canvas: Canvas, x: int, y: int, char: str) -> None:
    canvas.level(y, x, x, "$baseline", char)


def _marks(canvas: Canvas, classes: tuple[tuple[str, Times], ...], baseline: Times, scale: LogAxis) -> None:
    """▾ at the p50 and ▿ at the p95 of each class, with the class's name where there is room for it."""
    rows = [(reuse, times, f"${reuse}") for reuse, times in classes]
    rows += [("base", baseline, "$baseline")] if baseline else []
    for name, times, style in rows[::-1]:  # the run over the baseline, cold over warm
        for glyph, value in (("▿", p95(times)), ("▾", quantile(times, 0.5))):
            if value is not None:
                canvas.put(GUTTER + scale.column(value), 0, glyph, style)
    for name, times, style in rows:
        middle = quantile(times, 0.5)
        at = GUTTER + scale.column(middle) if middle is not None else -1
        # One cell apart from what stands before and after it.
        if at >= 0 and canvas.free(at + 1, 0, len(name) + 1):
            canvas.text(at + 1, 0, name, style)
        elif at >= 0 and canvas.free(at - len(name) - 1, 0, len(name) + 1):
            canvas.text(at - len(name), 0, name, style)
