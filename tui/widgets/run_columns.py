"""The columns of the runs table, each a declaration: what it shows of a vtune.run/1 result, and when it gives way."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tui.session.snapshot import RunView
from tui.widgets import figures
from tui.widgets.plain import plain


class Column(NamedTuple):
    key: str
    label: str
    cell: Callable[[RunView], str]
    width: int
    rank: int  # the higher, the sooner it gives way to a narrow screen
    right: bool = True


def _part(run: RunView, *keys: str) -> Any:
    found: Any = run.result
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _switched(run: RunView, part: str, key: str) -> str:
    """A rate, or the word `off` where the lever behind it is off."""
    if _part(run, part, "state") == "off":
        return "off"
    return figures.percent(_part(run, part, key))


def _change(run: RunView) -> str:
    return ("★ " if run.baseline else "  ") + plain(run.label, 60)


COLUMNS: tuple[Column, ...] = (
    Column("number", "#", lambda run: str(run.number), 3, 0),
    Column("change", "change", _change, 22, 0, right=False),
    Column("n", "n", lambda run: figures.count(_part(run, "requests", "ok")), 5, 3),
    Column("cold", "TTFT cold s", lambda run: figures.pair(_part(run, "ttft_s", "cold")), 13, 1),
    Column("warm", "TTFT warm s", lambda run: figures.pair(_part(run, "ttft_s", "warm")), 13, 0),
    Column("tpot", "TPOT ms", lambda run: figures.pair(_part(run, "tpot_s"), 1000), 11, 2),
    Column("speed", "tok/s", lambda run: figures.rate(_part(run, "throughput", "output_tokens_per_s")), 6, 2),
    Column("hits", "hits", lambda run: _switched(run, "prefix_cache", "hit_rate"), 6, 1),
    Column("accept", "accept", lambda run: _switched(run, "speculative", "acceptance_rate"), 6, 3),
    Column("kv", "KV peak", lambda run: figures.percent(_part(run, "kv_cache", "usage_peak")), 7, 4),
    Column("errors", "errors", lambda run: figures.count(_part(run, "requests", "failed")), 6, 2),
)
"""Pairs are p50 / p95."""


_NARROWEST = 8
"""Cells of the change that still tell something."""


def fitting(width: int) -> tuple[Column, ...]:
    """The columns that fit `width` cells, the least wanted left out; what is left over, or lacks, the change takes."""
    shown = list(COLUMNS)
    while sum(column.width + 2 for column in shown) > width and any(column.rank for column in shown):
        shown.remove(max(reversed(shown), key=lambda column: column.rank))
    spare = width - sum(column.width + 2 for column in shown)
    return tuple(
        column._replace(width=max(_NARROWEST, column.width + min(spare, 30))) if column.key == "change" else column
        for column in shown
    )
