"""The targets of the profile beside what a run reached."""

from typing import Any

from textual.content import Content

from tui.session.snapshot import RunView
from tui.widgets import figures
from tui.widgets.panel import words
from tui.widgets.plain import plain


def targets(run: RunView) -> list[Content]:
    """A part for each target: met, missed, or unknown."""
    return [_part(row) for row in run.result.get("targets") or ()]


def _part(row: dict[str, Any]) -> Content:
    name = plain(row.get("name", ""), 40)
    value, limit, met = row.get("value"), row.get("limit"), row.get("met")
    if met is None:
        return words(("? ", "$dim"), f"{name} ", ("unknown", "$dim"))
    mark, style = ("✓ ", "$success") if met else ("✕ ", "bold $error")
    return words((mark, style), f"{name} ", (_figure(name, value), "bold"), (f" of {_figure(name, limit)}", "$dim"))


def _figure(name: str, value: float | None) -> str:
    """By the kind of target: a time, a share, or a rate."""
    if name.startswith(("ttft", "e2e")):
        return figures.seconds(value)
    if name.startswith(("tpot", "itl")):
        return figures.millis(value)
    return figures.percent(value) if name.endswith("-rate") or name == "goodput" else figures.rate(value)
