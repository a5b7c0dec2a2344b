"""The strip of numbers beside the panels: how busy, how fast, how well."""

from textual.content import Content

from tui.session.snapshot import Points, Snapshot
from tui.widgets import figures
from tui.widgets.histogram import quantile
from tui.widgets.panel import Panel, words

Item = tuple[str, str, str]  # label, value, style of the value
STALE_S = 5.0
"""Age of the newest scrape from which it is told."""


class Numbers(Panel):
    TELLS = "Requests and tokens of this replay; when none runs, of the last one."

    can_focus = False

    def view(self, snapshot: Snapshot) -> tuple[Item, ...]:
        return (*_requests(snapshot), *_speed(snapshot), *_engine(snapshot))

    def heading(self, view: tuple[Item, ...]) -> Content:
        return words("Now")

    def draw(self, view: tuple[Item, ...], width: int, height: int) -> list[Content]:
        """Label over value; as many to a row as fit, all columns of one width."""
        widest = max(max(len(label), len(value)) for label, value, _ in view)
        per_row = max(1, min(len(view), (width + 2) // (widest + 2)))
        per_row = -(-len(view) // -(-len(view) // per_row))  # even rows
        cell = max(widest + 1, width // per_row)
        lines = []
        for start in range(0, len(view), per_row):
            row = view[start : start + per_row]
            lines.append(words(*((f"{label:<{cell}}", "$dim") for label, _, _ in row)))
            lines.append(words(*((f"{value:<{cell}}", style) for _, value, style in row)))
        return lines


def _requests(snapshot: Snapshot) -> tuple[Item, ...]:
    run = snapshot.run
    if run is None:
        result = snapshot.runs[-1].result.get("requests", {}) if snapshot.runs else {}
        done, failed = figures.count(result.get("ok")), result.get("failed")
        running, waiting = snapshot.metrics.running, snapshot.metrics.waiting
    else:
        done, failed = f"{run.ok} of {run.total}", run.failed
        running, waiting = run.running, run.waiting
    return (
        ("running", figures.count(running), "bold"),
        ("waiting", figures.count(waiting), "bold"),
        ("done", done, "bold"),
        ("errors", figures.count(failed), "bold $error" if failed else "bold"),
    )


def _speed(snapshot: Snapshot) -> tuple[Item, ...]:
    seen = snapshot.metrics
    return (
        ("output tok/s", figures.rate(_last(seen.output_tokens_per_s)), "bold"),
        ("prompt tok/s", figures.rate(_last(seen.prompt_tokens_per_s)), "bold"),
        ("TPOT p50", figures.millis(_tpot(snapshot)), "bold"),
    )


def _engine(snapshot: Snapshot) -> tuple[Item, ...]:
    seen = snapshot.metrics
    items: tuple[Item, ...] = (
        ("preempted", figures.count(seen.preemptions), "bold $warning" if seen.preemptions else "bold"),
        ("engine memory", figures.size(snapshot.engine.memory_bytes), "bold"),
    )
    if seen.age_s is not None and seen.age_s > STALE_S:
        items += (("metrics", f"{figures.age(seen.age_s)} old", "bold $warning"),)
    return items


def _last(points: Points) -> float | None:
    return points[-1][1] if points else None


def _tpot(snapshot: Snapshot) -> float | None:
    if snapshot.run is not None:
        return quantile(sorted(one.tpot_s for one in snapshot.run.finished if one.tpot_s is not None), 0.5)
    dist = (snapshot.runs[-1].result.get("tpot_s") or {}) if snapshot.runs else {}
    return dist.get("p50")
