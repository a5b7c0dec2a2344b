"""When requests are sent: a pace turns requests into absolute due times."""

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, repeat
from typing import Literal

from tui.errors import VtuneError
from tui.traffic.recording import Request

Mode = Literal["recorded", "closed", "constant", "poisson", "ramp", "burst"]
_WORDS = "recorded | closed:N | constant:R | poisson:R | ramp:A-B/SECONDS | burst:N/SECONDS"
_NUMBER = r"(\d+(?:\.\d+)?)"
_FORMS: tuple[tuple[Mode, re.Pattern[str]], ...] = (
    ("recorded", re.compile(r"recorded")),
    ("closed", re.compile(r"closed:(\d+)")),
    ("constant", re.compile(rf"constant:{_NUMBER}")),
    ("poisson", re.compile(rf"poisson:{_NUMBER}")),
    ("ramp", re.compile(rf"ramp:{_NUMBER}-{_NUMBER}/{_NUMBER}")),
    ("burst", re.compile(rf"burst:(\d+)/{_NUMBER}")),
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How requests are spread over time.

    `concurrency` belongs to ``closed`` and ``burst`` (requests at once), `rate` (requests/s) to ``constant``,
    ``poisson`` and the start of ``ramp``, `rate_end` to ``ramp``, `seconds` to ``ramp`` and ``burst``.
    """

    mode: Mode
    speed: float = 1.0  # recorded time passes this much faster
    seed: int = 0
    concurrency: int | None = None
    rate: float | None = None
    rate_end: float | None = None
    seconds: float | None = None

    def due_times(self, requests: Sequence[Request]) -> Iterator[tuple[float, Request]]:
        """Pairs of (seconds from the start of the run, request), in order of due time.

        ``closed`` has no times of its own: its pairs come in file order with 0.0. What `after` adds is not in
        here, for it depends on the answers: see `follow`.
        """
        if self.mode == "recorded":
            ordered = sorted(requests, key=lambda r: r.at)  # stable: equal times keep file order
            start = ordered[0].at if ordered else 0.0
            return (((r.at - start) / self.speed, r) for r in ordered)
        return zip(self._offsets(), requests, strict=False)

    def follow(self, due: float, answered: float, think_s: float | None) -> float:
        """Due time of a turn whose own time is `due` and which follows an answer that ended at `answered`.

        A closed loop keeps its places filled, so think time does not count there.
        """
        think = 0.0 if self.mode == "closed" else (think_s or 0.0) / self.speed
        return max(due, answered + think)

    def _offsets(self) -> Iterator[float]:
        rate, seconds = self.rate or 1.0, self.seconds or 1.0
        if self.mode == "constant":
            return (index / rate for index in count())
        if self.mode == "poisson":
            return _poisson(rate, self.seed)
        if self.mode == "ramp":
            last = self.rate_end or rate
            return (_ramp(index, self.rate or 0.0, last, seconds) for index in count())
        if self.mode == "burst":
            return (index // (self.concurrency or 1) * seconds for index in count())
        return repeat(0.0)


def _poisson(rate: float, seed: int) -> Iterator[float]:
    chance = random.Random(seed)
    return accumulate((chance.expovariate(rate) for _ in count()), initial=0.0)


def _ramp(index: int, first: float, last: float, seconds: float) -> float:
    """When request number `index` is due if the rate goes from `first` to `last` within `seconds`, then stays.

    The count of requests up to t is ``first*t + (last-first)*t**2 / (2*seconds)``; this is its inverse.
    """
    within = (first + last) / 2 * seconds
    if index >= within:
        return seconds + (index - within) / last
    slope = (last - first) / seconds
    # 2c / (b + sqrt(b^2 + 4ac)): the stable root, also where the slope is zero.
    return 2 * index / (first + math.sqrt(max(0.0, first * first + 2 * slope * index))) if index else 0.0


def parse_pace(text: str, speed: float = 1.0, seed: int = 0) -> Pace:
    """Read the words of ``--pace``; raises VtuneError for words or numbers that mean nothing."""
    if not (math.isfinite(speed) and speed > 0):
        raise VtuneError(f"speed {speed:g}", "a speed is a number over 0; 2 is twice as fast as recorded")
    for mode, form in _FORMS:
        if found := form.fullmatch(text.strip()):
            return _pace(mode, [float(word) for word in found.groups()], speed, seed, text)
    raise VtuneError(f"pace {text!r}", f"one of {_WORDS}")


def _pace(mode: Mode, numbers: list[float], speed: float, seed: int, text: str) -> Pace:
    if any(number <= 0 for number in (numbers[1:] if mode == "ramp" else numbers)):
        raise VtuneError(f"pace {text!r}", "its numbers must be over 0 (only a ramp may start at 0)")
    if mode == "closed":
        return Pace(mode, speed, seed, concurrency=int(numbers[0]))
    if mode in ("constant", "poisson"):
        return Pace(mode, speed, seed, rate=numbers[0])
    if mode == "ramp":
        return Pace(mode, speed, seed, rate=numbers[0], rate_end=numbers[1], seconds=numbers[2])
    if mode == "burst":
        return Pace(mode, speed, seed, concurrency=int(numbers[0]), seconds=numbers[1])
    return Pace(mode, speed, seed)
