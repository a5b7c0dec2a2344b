"""Prefix-cache hit rate: each window, the whole run, and the most that this recording could reach."""

from typing import NamedTuple

from textual.content import Content

from tui.session.snapshot import Points, Snapshot, Switch
from tui.widgets import figures
from tui.widgets.panel import Panel, flow, told, words
from tui.widgets.time_columns import columns
from tui.widgets.timeline import Timeline, marked


class View(NamedTuple):
    state: Switch
    window: Points
    run: float | None
    ceiling: float | None
    marks: tuple[tuple[float, str], ...]


class PrefixHits(Panel):
    EVERY_S = 0.95
    TELLS = (
        "Share of the prompt tokens found in the prefix cache. The ceiling is the most that this recording can reach."
    )

    def view(self, snapshot: Snapshot) -> View:
        seen = snapshot.metrics
        return View(seen.prefix_state, seen.prefix_window, seen.prefix_run, seen.prefix_ceiling, seen.lever_marks)

    def heading(self, view: View) -> list[Content]:
        if view.state != "on" or view.run is None:
            return [words("Prefix hits"), words((view.state, "$dim"))]
        parts = [words("Prefix hits"), words((figures.percent(view.run), "bold"))]
        if view.ceiling is not None:
            parts[1] = words(parts[1], (f" of {figures.percent(view.ceiling)}", "$dim"))
        return parts

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if view.state == "off":
            return _off(view, width)
        if not any(value is not None for _, value in view.window) and view.run is None:
            word = "prefix caching is on" if view.state == "on" else "hit rate unknown"
            return told(word, width, "nothing queried yet" if view.state == "on" else "no metrics from the engine yet")
        legend = flow([*_figures(view), *marked(view.marks)], width)
        line = Timeline.of(view.window, view.marks)
        room = height - len(legend)
        if room < 3 or line is None:
            return legend
        return [*columns(view.window, line, width, room, "$hits", view.ceiling), *legend]


def _off(view: View, width: int) -> list[Content]:
    more = (
        ""
        if view.ceiling is None
        else f"this recording could reuse {figures.percent(view.ceiling)} of its prompt tokens"
    )
    return told("prefix caching is off", width, more)


def _figures(view: View) -> list[Content]:
    now = next((value for _, value in reversed(view.window) if value is not None), None)
    parts = [words(("window ", "$dim"), figures.percent(now)), words(("run ", "$dim"), figures.percent(view.run))]
    ceiling = "unknown" if view.ceiling is None else figures.percent(view.ceiling)
    parts.append(words(("┄ ceiling ", "$dim"), ceiling))
    return parts
