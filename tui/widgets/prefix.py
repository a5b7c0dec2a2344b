"""Prefix-cache hit rate: each window, the whole run, and the most that this recording could reach."""

from dataclasses import dataclass

from textual.content import Content

from tui.session.snapshot import Points, Snapshot, Switch
from tui.widgets import figures
from tui.widgets.panel import Panel, flow, words
from tui.widgets.plot import Series, draw
from tui.widgets.timeline import Timeline


@dataclass(frozen=True, slots=True)
class View:
    state: Switch
    window: Points
    run: float | None
    ceiling: float | None
    marks: tuple[tuple[float, str], ...]


class PrefixHits(Panel):
    TELLS = "Share of the prompt tokens found in the prefix cache. The ceiling is the most that this recording can reach."

    def view(self, snapshot: Snapshot) -> View:
        seen = snapshot.metrics
        return View(seen.prefix_state, seen.prefix_window, seen.prefix_run, seen.prefix_ceiling, seen.lever_marks)

    def heading(self, view: View) -> Content:
        if view.state != "on":
            return words("Prefix hits", (f" · {view.state}", "$dim"))
        if view.run is None:
            return words("Prefix hits", (" · on, nothing queried yet", "$dim"))
        most = "" if view.ceiling is None else f" of {figures.percent(view.ceiling)} possible"
        return words("Prefix hits", (f" · {figures.percent(view.run)}{most}", "$dim"))

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if view.state == "off":
            return _off(view, width)
        if not any(value is not None for _, value in view.window) and view.run is None:
            word = "prefix caching is on, nothing queried yet" if view.state == "on" else "hit rate unknown: no metrics yet"
            return [words((word, "$dim"))]
        legend = flow(_figures(view), width)
        line = Timeline.of(view.window, view.marks)
        room = height - len(legend)
        if room < 3 or line is None:
            return legend
        columns = width - 5
        ticks = ((0.0, "  0 "), (0.5, " 50 "), (1.0, "100%")) if room > 4 else ((1.0, "100%"),)
        series = [Series(line.points(view.window, 2 * columns), "warm", kind="area")]
        if view.ceiling is not None:
            series.append(Series(line.level(view.ceiling, columns), "baseline", "┄", "points"))
        return [*draw(width, room, line.frame(1.0, ticks, columns), series), *legend]


def _off(view: View, width: int) -> list[Content]:
    lines = [words("prefix caching is off")]
    if view.ceiling is not None:
        lines.append(words(("this recording could reuse ", "$dim"), figures.percent(view.ceiling)))
    return lines


def _figures(view: View) -> list[Content]:
    now = next((value for _, value in reversed(view.window) if value is not None), None)
    parts = [words(("window ", "$dim"), figures.percent(now)), words(("run ", "$dim"), figures.percent(view.run))]
    ceiling = "unknown" if view.ceiling is None else figures.percent(view.ceiling)
    parts.append(words(("┄ ceiling ", "$dim"), ceiling))
    return parts
