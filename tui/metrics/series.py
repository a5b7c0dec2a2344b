"""A number over time in bounded memory, and its reduction to the columns of a plot."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float | None]  # epoch seconds, value
Keep = Literal["max", "min", "mean"]


@dataclass(frozen=True, slots=True)
class Bucket:
    """Samples that were put together: `t` of the last one, extremes and mean; `n` 0 where nothing was known."""

    t: float
    n: int
    low: float
    high: float
    mean: float

    def __add__(self, later: "Bucket") -> "Bucket":
        if not self.n or not later.n:
            known = self if self.n else later
            return Bucket(later.t, known.n, known.low, known.high, known.mean)
        n = self.n + later.n
        mean = (self.n * self.mean + later.n * later.mean) / n
        return Bucket(later.t, n, min(self.low, later.low), max(self.high, later.high), mean)

    def value(self, keep: Keep) -> float | None:
        if not self.n:
            return None
        return {"max": self.high, "min": self.low, "mean": self.mean}[keep]


class Series:
    """Keeps at most `capacity` buckets: when full, neighbours are merged and later samples put together alike.

    Peaks survive merging, whatever the length: a day at four samples a second takes what a minute takes.
    """

    def __init__(self, capacity: int = 1024) -> None:
        if capacity < 2 or capacity % 2:
            raise ValueError("capacity must be even, at least 2")
        self._capacity = capacity
        self._buckets: list[Bucket] = []
        self._width = 1  # samples a bucket holds
        self._filling = 0  # samples in the last bucket

    def add(self, t: float, value: float | None) -> None:
        """Append a sample; times must not go back."""
        sample = Bucket(t, 0, 0.0, 0.0, 0.0) if value is None else Bucket(t, 1, value, value, value)
        if self._buckets and self._filling < self._width:
            self._buckets[-1] += sample
            self._filling += 1
            return
        if len(self._buckets) == self._capacity:
            self._buckets = [a + b for a, b in zip(self._buckets[::2], self._buckets[1::2], strict=True)]
            self._width *= 2
        self._buckets.append(sample)
        self._filling = 1

    def __len__(self) -> int:
        return len(self._buckets)

    def points(self, keep: Keep = "mean") -> tuple[Point, ...]:
        return tuple((bucket.t, bucket.value(keep)) for bucket in self._buckets)

    @property
    def peak(self) -> float | None:
        return max((bucket.high for bucket in self._buckets if bucket.n), default=None)


def decimate(points: Sequence[Point], columns: int, keep: Keep = "max") -> tuple[Point, ...]:
    """At most `columns` points: time is cut in equal parts, each gives the `keep` of what is known in it.

    A part without samples gives none; one whose samples are all unknown gives None. Times are those of
    the parts' last samples.
    """
    if columns < 1 or not points:
        return ()
    if len(points) <= columns:
        return tuple(points)
    start, span = points[0][0], points[-1][0] - points[0][0]
    parts: dict[int, list[Point]] = {}
    for t, value in points:
        part = min(columns - 1, int((t - start) / span * columns)) if span > 0 else 0
        parts.setdefault(part, []).append((t, value))
    return tuple((part[-1][0], _kept((v for _, v in part), keep)) for part in parts.values())


def _kept(values: Iterable[float | None], keep: Keep) -> float | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    return max(known) if keep == "max" else min(known) if keep == "min" else sum(known) / len(known)
