"""What keeps a session that runs for days small: a run's scrapes are bounded, and forgotten once it has its result."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui.metrics.scrape import Scrape

if TYPE_CHECKING:
    from tui.session.state import RunRecord

MOST = 4_096
"""Scrapes kept of a run, half an hour of them; from then on every second one of those between goes."""


def keep(scrapes: list[Scrape], newest: Scrape) -> None:
    """Add `newest`. Counters only grow, so what is counted from first to last stays the same without those between.

    A restart of the engine sets them back: the scrapes on both sides of one stay. Of two neighbours the one with the
    fuller KV cache stays, for its peak.
    """
    scrapes.append(newest)
    if len(scrapes) >= MOST:
        scrapes[:] = _thinned(scrapes)


def _thinned(scrapes: list[Scrape]) -> Iterable[Scrape]:
    started = [None, *(scrape.started_at for scrape in scrapes), None]
    waiting: Scrape | None = None
    for number, scrape in enumerate(scrapes, 1):
        end = number in (1, len(scrapes))
        if end or not started[number - 1] == started[number] == started[number + 1]:
            yield from (one for one in (waiting, scrape) if one is not None)
            waiting = None
        elif waiting is None:
            waiting = scrape
        else:
            yield max(waiting, scrape, key=lambda one: one.kv_usage or 0.0)
            waiting = None


def release(runs: "Iterable[RunRecord]") -> None:
    """Forget what only the result of a run, or a picture of it while it is the newest, is made of.

    A report reads it from the journal again. For the live session only.
    """
    *earlier, last = runs
    for run in earlier:
        run.trace.steps.clear()
    for run in (*earlier, last):
        run.scrapes.clear()
        run.memory.clear()
        run.gpu_memory.clear()
