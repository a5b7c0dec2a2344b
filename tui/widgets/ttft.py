"""Time to first token: how it is spread, cold apart from warm, this run over the baseline."""

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from tui.session.snapshot import Snapshot
from tui.widgets import figures
from tui.widgets.engine_state import serves
from tui.widgets.histogram import p95, quantile
from tui.widgets.key_names import key
from tui.widgets.look import GLYPHS
from tui.widgets.panel import Panel, flow, told, words
from tui.widgets.ttft_plot import Times, histogram

if TYPE_CHECKING:
    from tui.metrics.buckets import Coarse
    from tui.traffic.tick import Finished


class View(NamedTuple):
    number: int | None
    classes: tuple[tuple[str, Times], ...]  # those that occur, cold first
    baseline_number: int | None = None
    baseline: Times = ()
    foreign: "Coarse | None" = None
    serves: bool = False  # a replay could be started

    @property
    def n(self) -> int:
        return sum(len(times) for _, times in self.classes)


def _times(finished: "tuple[Finished, ...]", reuse: str | None = None) -> Times:
    return tuple(sorted(one.ttft_s for one in finished if one.ttft_s is not None and reuse in (None, one.reuse)))


class Ttft(Panel):
    EVERY_S = 0.95
    TELLS = "Time to first token from the moment a request was due. Warm requests reuse their prompt, cold ones do not."

    def view(self, snapshot: Snapshot) -> View:
        run = snapshot.run or (snapshot.runs[-1] if snapshot.runs else None)
        foreign = snapshot.metrics.foreign_ttft
        if run is None:
            return View(None, (), foreign=foreign, serves=serves(snapshot))
        classes = tuple((reuse, times) for reuse in GLYPHS if (times := _times(run.finished, reuse)))
        base = snapshot.baseline
        if base is None or base.number == run.number:
            return View(run.number, classes, foreign=foreign)
        return View(run.number, classes, base.number, _times(base.finished), foreign)

    def heading(self, view: View) -> list[Content]:
        if view.number is None:
            return [words("TTFT")]
        parts = [words("TTFT"), words((f"run {view.number}", "$dim")), words((f"n {view.n}", "$dim"))]
        if view.baseline:
            parts[2] = words((f"n {view.n}, baseline {len(view.baseline)}", "$dim"))
        return parts

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if not view.n:
            replays = f"{key('replay')} replays the recording" if view.serves else ""
            none = "no first token yet" if view.number else "nothing measured yet"
            said = told(none, width, "" if view.number else replays)
            return [*said, *_foreign(view, width)]
        legend = [*_legend(view, width), *_foreign(view, width)]
        if height - len(legend) < 6:
            legend = _short_legend(view, width)
        room = height - len(legend)
        if room < 4:
            return legend[:height]
        return [*histogram(view.classes, view.baseline, width, room), *legend]


def _legend(view: View, width: int) -> list[Content]:
    rows = [_row(GLYPHS[reuse], reuse, times, f"${reuse}", width) for reuse, times in view.classes]
    if view.baseline:
        rows.append(_row("┄", "baseline", view.baseline, "$baseline", width))
    return flow(rows, width, "   ")


def _foreign(view: View, width: int) -> list[Content]:
    """Requests of others on an engine that vtune only watches, from its histogram's wide buckets."""
    if (seen := view.foreign) is None:
        return []
    from tui.metrics.buckets import LABEL

    low, high = (figures.FEW if value is None else figures.seconds(value) for value in (seen.p50, seen.p95))
    parts = [words(("not ours ", "$dim"), f"n {seen.n}"), words(("p50 ", "$dim"), low), words(("p95 ", "$dim"), high)]
    return flow([*parts, words((LABEL, "$dim"))], width)


def _short_legend(view: View, width: int) -> list[Content]:
    rows = [(GLYPHS[reuse], reuse, times, f"${reuse}") for reuse, times in view.classes]
    rows += [("┄", "baseline", view.baseline, "$baseline")] if view.baseline else []
    parts = []
    for glyph, name, times, style in rows:
        tail = p95(times)
        high = "" if tail is None else f"/{figures.seconds(tail, unit=False)}"
        parts.append(
            words((f"{glyph} {name} ", style), figures.seconds(quantile(times, 0.5), unit=False), high, (" s", "$dim"))
        )
    return flow(parts, width)


def _row(glyph: str, name: str, times: Times, style: str, width: int) -> Content:
    tail = p95(times)
    p50 = f"{figures.seconds(quantile(times, 0.5), unit=False):>6}"
    head, unit = (f"{glyph} {name:<8}", style), (" s", "$dim")
    high = (figures.FEW, "") if tail is None else words(figures.seconds(tail, unit=False), unit)
    if width < 40:
        return words(head, (f"{len(times):>3}", "$dim"), p50, unit if tail is None else "", ("/", "$dim"), high)
    gap = " " * (6 - len(figures.FEW if tail is None else figures.seconds(tail, unit=False)))
    return words(head, (f"{len(times):>4}  p50", "$dim"), p50, unit, ("  p95", "$dim"), gap, high)
