"""Latencies in logarithmic bins, and their quantiles, for the TTFT panel."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

P95_FROM = 20
"""Samples from which a p95 is shown."""

_STEPS = tuple(round(factor * 10.0**power, 6) for power in range(-4, 5) for factor in (1, 2, 5))


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """numpy's linear method on sorted values; None without any."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def p95(ordered: Sequence[float]) -> float | None:
    return quantile(ordered, 0.95) if len(ordered) >= P95_FROM else None


class LogAxis(NamedTuple):
    """A time axis from `low` to `high` seconds, both of the 1-2-5 series, over `columns` cells."""

    low: float
    high: float
    columns: int

    @classmethod
    def around(cls, values: Iterable[float], columns: int) -> "LogAxis":
        known = [value for value in values if value > 0]
        first, last = (min(known), max(known)) if known else (0.1, 5.0)
        low = _STEPS[max(0, bisect_right(_STEPS, first) - 1)]
        high = _STEPS[min(len(_STEPS) - 1, bisect_left(_STEPS, last))]
        # At least a decade, so that a handful of equal latencies does not fill the whole axis.
        while high / low < 10:
            low, high = _STEPS[max(0, _STEPS.index(low) - 1)], _STEPS[min(len(_STEPS) - 1, _STEPS.index(high) + 1)]
        return cls(low, high, max(1, columns))

    def column(self, value: float) -> int:
        """The cell of `value`, 0 to columns - 1."""
        share = (log10(max(value, self.low)) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return min(self.columns - 1, max(0, round(share * (self.columns - 1))))

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """As many labelled 1-2-5 values as fit without touching, (column, label); the last has the unit."""
        shown: list[tuple[float, str]] = []
        free = 0
        for value in (step for step in _STEPS if self.low <= step <= self.high):
            label = f"{value:g}".removeprefix("0") if value < 1 else f"{value:g}"
            start = self.column(value) - len(label) // 2
            if start >= free or not shown:
                shown.append((self.column(value), label))
                free = start + len(label) + 2
        at, label = shown[-1]
        return (*shown[:-1], (at, f"{label} s"))

    def counts(self, values: Iterable[float], step: int) -> list[int]:
        """How many values in each bin of `step` cells."""
        bins = [0] * ceil(self.columns / step)
        for value in values:
            bins[self.column(value) // step] += 1
        return bins
