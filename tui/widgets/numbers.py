"""The strip of numbers beside the panels: how busy, how fast, how well."""

from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size

from tui.session.snapshot import Points, Snapshot
from tui.widgets import figures
from tui.widgets.histogram import quantile
from tui.widgets.panel import Panel, words

STALE_S = 5.0
"""Age of the newest scrape from which it is told."""

LATE_S = 0.05
"""Send lag from which it is told: TTFT counts from when a request was due."""


class Item(NamedTuple):
    label: str
    value: str
    alarm: str = ""  # a style, where the number is bad news
    room: int = 0  # cells kept for the value, so that a growing number moves nothing

    @property
    def width(self) -> int:
        return max(len(self.label), len(self.value), self.room)


class Numbers(Panel, can_focus=False):
    TELLS = "Requests and tokens of this replay; when none runs, of the last one."

    def show(self, snapshot: Snapshot) -> None:
        before, width = self._view, self.content_size.width
        super().show(snapshot)
        if before and before is not self._view and len(_rows(before, width)) != len(_rows(self._view, width)):
            self.refresh(layout=True)

    def view(self, snapshot: Snapshot) -> tuple[Item, ...]:
        return (*_requests(snapshot), *_speed(snapshot), *_engine(snapshot))

    def heading(self, view: tuple[Item, ...]) -> list[Content]:
        return [words("Now")]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 2 * len(_rows(self._view, width)) if self._view else 2

    def draw(self, view: tuple[Item, ...], width: int, height: int) -> list[Content]:
        """Label over value, the columns of all rows one under the other."""
        rows = _rows(view, width)
        widths = _widths(rows)
        gap = min(6, (width - sum(widths)) // max(1, len(widths) - 1))
        lines = []
        for row in rows:
            cells = [room + gap for room in widths]
            pairs = list(zip(row, cells, strict=False))
            lines.append(words(*((f"{item.label:<{cell}}", "$dim") for item, cell in pairs)).rstrip())
            lines.append(words(*((f"{item.value:<{cell}}", f"bold {item.alarm}") for item, cell in pairs)).rstrip())
        return lines


def _widths(rows: list[tuple[Item, ...]]) -> list[int]:
    return [max(row[at].width for row in rows if at < len(row)) for at in range(len(rows[0]))]


def _rows(view: tuple[Item, ...], width: int) -> list[tuple[Item, ...]]:
    """As few rows as fit with two cells between the columns, evenly filled: two labels must not read as one."""
    for count in range(1, len(view) + 1):
        per_row = -(-len(view) // count)
        rows = [view[start : start + per_row] for start in range(0, len(view), per_row)]
        widths = _widths(rows)
        if sum(widths) + 2 * (len(widths) - 1) <= width:
            return rows
    return [(item,) for item in view]


def _requests(snapshot: Snapshot) -> tuple[Item, ...]:
    run = snapshot.run
    if run is None:
        result = snapshot.runs[-1].result.get("requests", {}) if snapshot.runs else {}
        done, failed = figures.count(result.get("ok")), result.get("failed")
        running, waiting = snapshot.metrics.running, snapshot.metrics.waiting
    else:
        done, failed = f"{run.ok}/{run.total}", run.failed
        running, waiting = run.running, run.waiting
    return (
        Item("running", figures.count(running)),
        Item("waiting", figures.count(waiting)),
        Item("done", done, room=7),
        Item("errors", figures.count(failed), "$error" if failed else ""),
    )


def _speed(snapshot: Snapshot) -> tuple[Item, ...]:
    seen = snapshot.metrics
    return (
        Item("out tok/s", figures.rate(_last(seen.output_tokens_per_s))),
        Item("in tok/s", figures.rate(_last(seen.prompt_tokens_per_s))),
        Item("TPOT", figures.millis(_tpot(snapshot)), room=6),
    )


def _engine(snapshot: Snapshot) -> tuple[Item, ...]:
    seen = snapshot.metrics
    preempted = Item("preempted", figures.count(seen.preemptions), "$warning" if seen.preemptions else "")
    lag = snapshot.run.max_lag_s if snapshot.run else None
    if lag is not None and lag > LATE_S:
        return (preempted, Item("send lag", figures.millis(lag), "$warning"))
    if seen.age_s is not None and seen.age_s > STALE_S:
        return (preempted, Item("metrics", f"{figures.age(seen.age_s)} old", "$warning"))
    return (preempted, Item("memory", figures.size(snapshot.engine.memory_bytes), room=8))


def _last(points: Points) -> float | None:
    return points[-1][1] if points else None


def _tpot(snapshot: Snapshot) -> float | None:
    if snapshot.run is not None:
        return quantile(sorted(one.tpot_s for one in snapshot.run.finished if one.tpot_s is not None), 0.5)
    dist = (snapshot.runs[-1].result.get("tpot_s") or {}) if snapshot.runs else {}
    return dist.get("p50")
