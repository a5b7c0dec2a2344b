"""KV-cache usage over time, with its peak and the size of the pool."""

from typing import NamedTuple

from textual.content import Content

from tui.session.kv_picture import KvPicture
from tui.session.snapshot import Points, Snapshot
from tui.widgets import figures, kv_rows
from tui.widgets.panel import Panel, flow, told, words
from tui.widgets.plain import plain
from tui.widgets.plot import GUTTER, Series, draw
from tui.widgets.timeline import Timeline, marked

ROOMY = 16  # lines from which the pool is told in numbers
WIDE_ENOUGH = 60
LEAST_PLOT = 8
_TOPS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)


class View(NamedTuple):
    usage: Points
    peak: float | None
    pool_tokens: int | None
    preemptions: int | None
    engines: tuple[tuple[str, float | None], ...]
    marks: tuple[tuple[float, str], ...]
    pool: KvPicture


class KvCache(Panel):
    EVERY_S = 0.95
    TELLS = "KV-cache blocks in use. Near 100 % requests wait, or are preempted and start over."

    def view(self, snapshot: Snapshot) -> View:
        seen = snapshot.metrics
        pool = snapshot.engine.kv_cache_tokens
        return View(seen.kv_usage, seen.kv_peak, pool, seen.preemptions, seen.kv_engines, seen.lever_marks, seen.kv)

    def heading(self, view: View) -> list[Content]:
        size = "pool size unknown" if view.pool_tokens is None else f"{figures.count(view.pool_tokens)} tokens"
        several = [words((f"{len(view.engines)} engines", "$dim"))] if view.engines else []
        return [words("KV cache"), words((size, "$dim")), *several]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        rows = _rows(view, width, height)
        if not view.usage:
            return [*rows, *told("usage unknown", width, "it is measured while a replay runs")]
        return [*rows, *_course(view, width, height - len(rows))]


def _course(view: View, width: int, height: int) -> list[Content]:
    """Usage over time, and under it now, peak and preemptions."""
    legend = flow([*_figures(view, width), *marked(view.marks)], width)
    if view.engines:
        legend = [*_engines(view, width, max(0, height - len(legend))), *legend]
    line = Timeline.of(view.usage, view.marks)
    room = height - len(legend)
    if room < 3 or line is None:
        return legend
    top = next(top for top in _TOPS if top >= min(1.0, (view.peak or 0) * 1.05))
    columns = width - GUTTER
    ticks = (
        ((0.0, "  0 "), (top / 2, f"{top * 50:>3.0f} "), (top, f"{top * 100:>3.0f}%"))
        if room > 4
        else ((top, f"{top * 100:>3.0f}%"),)
    )
    series = [Series(line.points(view.usage, 2 * columns), "used", kind="area")]
    if view.peak is not None and room > 4:
        series.append(Series(line.level(view.peak, columns), "baseline", "┄", "points"))
    return [*draw(width, room, line.frame(top, ticks, columns), series), *legend]


def _rows(view: View, width: int, height: int) -> list[Content]:
    """All numbers where the panel has the room of a whole screen, else only that prefixes are lost and wanted again."""
    if height >= ROOMY and width >= WIDE_ENOUGH:
        rows = [part for row in kv_rows.rows(view.pool) for part in row.wrap(width)]
        return rows[: height - LEAST_PLOT]
    again = kv_rows.thrashing(view.pool)
    return [] if again is None else [again]


def _engines(view: View, width: int, most: int) -> list[Content]:
    """A bar an engine, the fullest first, so that one that is full is seen beside the others."""
    fullest = sorted(view.engines, key=lambda one: -(one[1] or 0.0))
    shown = fullest if len(fullest) <= most else fullest[: max(0, most - 1)]
    label = max((len(plain(name, 12)) for name, _ in shown), default=0)
    room = max(4, width - label - 16)
    lines = []
    for name, usage in shown:
        full = round((usage or 0.0) * room)
        bar = words(("█" * full, "$used"), ("·" * (room - full), "$faint"))
        lines.append(words((f"engine {plain(name, 12):>{label}} ", "$dim"), bar, f"{figures.percent(usage):>8}"))
    if len(shown) < len(fullest):
        lines.append(words((f"+ {len(fullest) - len(shown)} engines less full", "$dim")))
    return lines[:most]


def _figures(view: View, width: int) -> list[Content]:
    now = next((value for _, value in reversed(view.usage) if value is not None), None)
    parts = [words(("used ", "$dim"), figures.percent(now)), words(("┄ peak ", "$dim"), figures.percent(view.peak))]
    # With several engines a share is of the fullest one, and the pool is all of theirs.
    if view.pool_tokens is not None and not view.engines and width >= 40:
        for at, share in enumerate((now, view.peak)):
            if share is not None:
                parts[at] = words(parts[at], (f" {figures.count(round(share * view.pool_tokens))} tokens", "$dim"))
    preempted = "unknown" if view.preemptions is None else figures.count(view.preemptions)
    parts.append(words(("preempted ", "$dim"), (preempted, "bold $warning" if view.preemptions else "")))
    return parts
