"""Requests as bars on one clock: a long prefill that holds up short ones is seen."""

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from tui.session.snapshot import Snapshot
from tui.widgets import figures
from tui.widgets.panel import Panel, words
from tui.widgets.plain import plain
from tui.widgets.request_bars import GLYPHS, Bar, lanes, rows, span_of

if TYPE_CHECKING:
    from tui.traffic.tick import Finished, InFlight

_ROW_EACH = 8
"""Lines from which every request gets a line of its own, with its name."""
_KEPT = 240
"""Requests that ended, of which the newest are looked at: more do not fit any screen."""


class View(NamedTuple):
    bars: tuple[Bar, ...]  # in the order in which they were due
    now: float  # from the start of the run, in half seconds
    in_flight: int
    active: bool
    errors: tuple[tuple[str, int], ...] = ()


class Requests(Panel):
    TELLS = "Every request on one clock, now at the right. A long prefill that others wait behind is a wall of █."

    def view(self, snapshot: Snapshot) -> View:
        run = snapshot.run
        if run is not None:
            now = round(run.elapsed_s * 2) / 2
            bars = (*(_flying(one, now) for one in run.in_flight), *_ended(run.finished))
            return View(_ordered(bars), now if bars else 0.0, len(run.in_flight), True, run.errors)
        if not snapshot.runs:
            return View((), 0.0, 0, False)
        bars = _ended(snapshot.runs[-1].finished)
        return View(_ordered(bars), max((bar.end for bar in bars), default=0.0), 0, False)

    def heading(self, view: View) -> list[Content]:
        legend = words(*((f"{GLYPHS[phase]} {phase} ", f"${role}") for phase, role in _PHASES))
        number = [words((f"{view.in_flight} in flight", "$dim"))] if view.active else []
        ended = [words(("the end of the last run", "$dim"))] if view.bars and not view.active else []
        if view.bars and 0 < self.content_size.height < _ROW_EACH:
            span = span_of(view.bars, view.now, self.content_size.width)
            number.append(words((f"{figures.clock(span)} across", "$dim")))
        errors = [words((f"{count} × {plain(kind, 30)}", "bold $error")) for kind, count in view.errors]
        return [words("Requests"), *errors, *ended, *number, legend.rstrip()]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if not view.bars:
            return [words(("no request yet" if view.active else "no replay is running", "$dim"))]
        if height >= _ROW_EACH:
            return rows(view.bars, view.now, width, height)
        return lanes(view.bars, view.now, span_of(view.bars, view.now, width), width, height)


_PHASES = (("queued", "unknown"), ("prefill", "prefill"), ("decode", "decode"))


def _flying(one: "InFlight", now: float) -> Bar:
    """Until its first token, what was sent may also wait inside the engine: that is known when it has ended."""
    sent = now if one.sent_s is None else one.sent_s
    first = now if one.first_s is None else one.first_s
    return Bar(one.id, one.due_s, min(sent, now), min(first, now), max(now, one.due_s), "")


def _ended(finished: "tuple[Finished, ...]") -> tuple[Bar, ...]:
    bars = []
    for one in finished[-_KEPT:]:
        due = one.due_s if one.due_s is not None else _due(one)
        if due is None:
            continue
        sent = one.sent_s if one.sent_s is not None else due
        end = due + one.e2e_s if one.e2e_s is not None else one.at_s
        first = end if one.ttft_s is None else due + one.ttft_s
        started = min(first, sent + (one.queue_s or 0.0))
        bars.append(Bar(one.id, due, started, first, end, one.status))
    return tuple(bars)


def _due(one: "Finished") -> float | None:
    """Of a run recorded before it was told."""
    return None if one.e2e_s is None else max(0.0, one.at_s - one.e2e_s)


def _ordered(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    return tuple(sorted(bars, key=lambda bar: (bar.due, bar.id)))
