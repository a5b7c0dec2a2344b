"""Speculative decoding: how many proposed tokens are accepted, over time and by draft position."""

from typing import NamedTuple

from textual.content import Content

from tui.session.snapshot import Points, Snapshot, Switch
from tui.widgets import figures
from tui.widgets.panel import Panel, flow, told, words
from tui.widgets.plain import plain
from tui.widgets.plot import GUTTER, Series, draw
from tui.widgets.timeline import Timeline, marked

ROOMY = 14  # lines from which the notes are shown
NO_PROPOSAL = ("ngram", "ngram-gpu", "suffix")  # propose nothing in a step where they find nothing
_PARTS = " ▏▎▍▌▋▊▉"


class View(NamedTuple):
    state: Switch
    method: str | None
    window: Points
    steps: Points
    rate: float | None
    mean_length: float | None
    per_position: tuple[float, ...]
    tokens_per_step: float | None
    marks: tuple[tuple[float, str], ...]
    draft_tokens: int | None
    copied: float | None


class Acceptance(Panel):
    EVERY_S = 0.95
    TELLS = "Accepted of proposed draft tokens. Last positions that are rarely accepted cost time: propose fewer."

    def view(self, snapshot: Snapshot) -> View:
        seen = snapshot.metrics
        return View(
            seen.speculative_state,
            seen.speculative_method,
            seen.acceptance_window,
            seen.step_window,
            seen.acceptance_rate,
            seen.mean_acceptance_length,
            seen.per_position,
            seen.tokens_per_step,
            seen.lever_marks,
            seen.draft_kv_tokens,
            seen.copied_share,
        )

    def heading(self, view: View) -> list[Content]:
        if view.state != "on":
            return [words("Acceptance"), words((view.state, "$dim"))]
        return [
            words("Acceptance"),
            words((figures.percent(view.rate), "bold")),
            words((plain(view.method or "", 24), "$dim")),
        ]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if view.state == "off":
            more = "no token is proposed, so there is none to accept"
            if view.copied is not None:
                more = f"{figures.percent(view.copied)} of the answers' words could have been copied by n-gram look-up"
            return told("speculation is off", width, more)
        if view.rate is None:
            word = "speculation is on" if view.state == "on" else "acceptance unknown"
            return told(word, width, "nothing proposed yet" if view.state == "on" else "no metrics from the engine yet")
        named = flow([*_figures(view), *marked(view.marks)], width)
        legend = [*named, *(_notes(view, width) if height >= ROOMY else [])]
        bars = _bars(view.per_position, width)
        room = height - len(legend)
        if len(bars) > room:
            bars = [] if room < 2 else bars[:room]
        room -= len(bars)
        return [*_over_time(view, width, room), *bars, *legend]


def _over_time(view: View, width: int, height: int) -> list[Content]:
    """Tokens per step as a line, from 1, where speculation gains nothing; the accepted share where steps are untold."""
    counted = any(value is not None for _, value in view.steps)
    points = view.steps if counted else view.window
    line = Timeline.of(points, view.marks)
    if height < 5 or line is None:
        return []
    low, top = (1.0, float(len(view.per_position) + 1 or 2)) if counted else (0.0, 1.0)
    ticks = ((low, "  1 "), (top, f"{top:>3.0f} ")) if counted else ((0.0, "  0 "), (1.0, "100%"))
    frame = line.frame(top, ticks, width - GUTTER)
    series = [Series(line.points(points, 2 * (width - GUTTER)), "partial", kind="area")]
    title = "tokens per step" if counted else "accepted share"
    return [words((title, "$dim")), *draw(width, height - 1, frame._replace(y=(low, top)), series)]


def _bars(shares: tuple[float, ...], width: int) -> list[Content]:
    """How often the token at each draft position is accepted, with eighths of a cell."""
    room = max(4, width - 12)
    lines = []
    for position, share in enumerate(shares, 1):
        eighths = round(max(0.0, min(1.0, share)) * room * 8)
        bar = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
        rest = ("·" * (room - len(bar)), "$faint")
        lines.append(words((f"{position:>3} ", "$dim"), (bar, "$partial"), rest, f"{figures.percent(share):>7}"))
    return lines


def _notes(view: View, width: int) -> list[Content]:
    """What the figures leave unsaid, where there is room for it."""
    notes = []
    if (view.method or "").partition(":")[0] in NO_PROPOSAL:
        notes.append("mean length leaves out steps without a proposal, tokens/step counts them")
    if view.draft_tokens is not None:
        notes.append(f"the draft's own KV cache costs {figures.count(view.draft_tokens)} tokens of the pool")
    return [line.stylize("$dim") for note in notes for line in Content(note).wrap(width)]


def _figures(view: View) -> list[Content]:
    def unit(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.2f}"

    return [
        words(("accepted ", "$dim"), figures.percent(view.rate)),
        words(("mean length ", "$dim"), unit(view.mean_length)),
        words(("tokens/step ", "$dim"), unit(view.tokens_per_step)),
    ]
