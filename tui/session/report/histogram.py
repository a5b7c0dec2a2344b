"""Histograms as text: TTFT on a logarithmic axis, cold to warm by glyph; bars of acceptance."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from tui.session.report.figures import seconds, share
from tui.traffic.outcome import REUSES, Reuse

GLYPHS: dict[Reuse, str] = {"cold": "░", "partial": "▒", "warm": "█", "unknown": "·"}
_STEPS = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)  # edges in a decade: the E12 numbers
_WIDTH = 50
_EMPTY_ROWS = 3
_LENGTH_ROWS = 12


def ttft(values: Mapping[Reuse, Sequence[float]]) -> str | None:
    """Rows of bins from the fastest to the slowest request; a glyph a request while they fit. None without any."""
    bins: dict[int, dict[Reuse, int]] = {}
    for reuse, times in values.items():
        for value in times:
            found = bins.setdefault(bin_of(value), {})
            found[reuse] = found.get(reuse, 0) + 1
    if not bins:
        return None
    scale = min(1.0, _WIDTH / max(sum(row.values()) for row in bins.values()))
    lines = _folded([_row(i, bins.get(i, {}), scale) for i in range(min(bins), max(bins) + 1)])
    legend = "  ".join(f"{GLYPHS[r]} {r} {len(values[r])}" for r in REUSES if values.get(r))
    return "\n".join([f"TTFT, {legend}", *lines])


def _folded(rows: Sequence[str]) -> list[str]:
    """More than three empty rows in a row become one."""
    lines: list[str] = []
    for empty, group in groupby(rows, key=lambda row: row.endswith("│")):
        run = list(group)
        lines += [f"{'…':>8} │"] if empty and len(run) > _EMPTY_ROWS else run
    return lines


def bin_of(value: float) -> int:
    """Index of the bin that holds `value` (s): 12 a decade, 0 begins at 1 s; below a microsecond counts as one."""
    value = max(value, 1e-6)
    decade = math.floor(math.log10(value) + 1e-12)
    place = max(i for i, step in enumerate(_STEPS) if i == 0 or value >= step * 10.0**decade * (1 - 1e-12))
    return decade * len(_STEPS) + place


def edge(index: int) -> float:
    """Where bin `index` begins, in seconds."""
    decade, step = divmod(index, len(_STEPS))
    return _STEPS[step] * 10.0**decade


def _row(index: int, counts: Mapping[Reuse, int], scale: float) -> str:
    bar = "".join(GLYPHS[r] * max(1, round(counts[r] * scale)) for r in REUSES if counts.get(r))
    total = sum(counts.values())
    return f"{seconds(edge(index)):>8} │{bar} {total}".rstrip() if total else f"{seconds(edge(index)):>8} │"


def tokens(values: Sequence[int]) -> str | None:
    """Prompt lengths in rows of equal width, at most twelve; None without any."""
    if not values:
        return None
    span = max(values) - min(values)
    step = next((s * 10**d for d in range(9) for s in (1, 2, 5) if span / (s * 10**d) <= _LENGTH_ROWS - 2), 1)
    first, last = min(values) // step, max(values) // step
    counts = Counter(value // step for value in values)
    scale = min(1.0, _WIDTH / max(counts.values()))
    rows = [(i, counts[i]) for i in range(first, last + 1)]
    lines = [f"{i * step:>8,} │{'█' * max(1, round(n * scale))} {n}" if n else f"{i * step:>8,} │" for i, n in rows]
    return "\n".join([f"prompt tokens, {len(values)} requests, rows of {step:,}", *lines])


def positions(rates: Sequence[float]) -> str:
    """Acceptance per draft position, as bars."""
    width = 30
    return "\n".join(f"position {i}  {share(rate):>7}  {'█' * round(width * rate)}" for i, rate in enumerate(rates, 1))
