"""Requests in flight as bars on one clock: a long prefill that holds up short ones is seen."""

from dataclasses import dataclass

from textual.content import Content

from tui.session.snapshot import Snapshot
from tui.traffic.tick import InFlight
from tui.widgets import figures
from tui.widgets.panel import Panel, words
from tui.widgets.plain import plain

QUEUED, PREFILL, DECODE = ("▒", "$unknown"), ("█", "$cold"), ("░", "$warm")
_LABEL = 14
"""Cells that a request's id gets at most; its end tells it apart."""
_NARROWEST = 32


@dataclass(frozen=True, slots=True)
class View:
    requests: tuple[InFlight, ...]
    now: float  # from the start of the run, in quarter seconds
    active: bool
    errors: tuple[tuple[str, int], ...] = ()


class Requests(Panel):
    TELLS = "Each request in flight on the same clock: waiting to be sent, prefill until its first token, then decode."

    def view(self, snapshot: Snapshot) -> View:
        run = snapshot.run
        if run is None:
            return View((), 0.0, False)
        return View(run.in_flight, round(run.elapsed_s * 4) / 4 if run.in_flight else 0.0, True, run.errors)

    def heading(self, view: View) -> list[Content]:
        legend = words(("▒ queued ", "$unknown"), ("█ prefill ", "$cold"), ("░ decode", "$warm"))
        number = [words((f"{len(view.requests)} in flight", "$dim"))] if view.requests else []
        errors = [words((f"{count} × {plain(kind, 30)}", "bold $error")) for kind, count in view.errors]
        return [words("Requests"), *errors, *number, legend]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if not view.requests:
            word = "none in flight" if view.active else "no replay is running"
            return [words((word, "$dim"))]
        columns = max(1, min(width // _NARROWEST, -(-len(view.requests) // height)))
        places = columns * height
        shown = view.requests if len(view.requests) <= places else view.requests[: places - 1]
        start = min(one.due_s for one in shown)
        cell = width // columns
        names = [plain(one.id, 200)[-_LABEL:] for one in shown]
        label = max(len(name) for name in names)
        cells = [_bar(one, name.rjust(label), start, view.now, cell) for one, name in zip(shown, names, strict=True)]
        if len(shown) < len(view.requests):
            cells.append(words((f"+ {len(view.requests) - len(shown)} more".ljust(cell), "$dim")))
        rows = -(-len(cells) // columns)
        return [words(*cells[row::rows]) for row in range(rows)]


def _bar(one: InFlight, name: str, start: float, now: float, width: int) -> Content:
    """Name, bar from due to now, age; blank before it was due."""
    room = max(1, width - len(name) - 10)
    scale = room / max(1.0, now - start)

    def cells(moment: float | None) -> int:
        return room if moment is None else max(0, min(room, round((moment - start) * scale)))

    due, sent, first = cells(one.due_s), cells(one.sent_s), cells(one.first_s)
    spent = figures.seconds(max(0.0, now - one.due_s))
    return words(
        (f"{name} ", "$dim"),
        " " * due,
        (QUEUED[0] * (sent - due), QUEUED[1]),
        (PREFILL[0] * (first - sent), PREFILL[1]),
        (DECODE[0] * (room - first), DECODE[1]),
        (f" {spent:<8}", "$dim"),
    )
