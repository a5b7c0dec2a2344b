"""Arrival times: what unit a source's stamps are in, and the stamps as numbers."""

import re
from array import array
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e9, "s"))  # a stamp of this size is since 1970
_BEYOND = 4e18
_FRACTION = re.compile(r"(\.\d{6})\d+")
_SLASHES = re.compile(r"^(\d{4})/(\d\d)/(\d\d)")
_NO_COLON = re.compile(r"([+-]\d\d)(\d\d)$")
# Whole numbers that are this far apart on average are milliseconds: as seconds they'd be a request in a quarter minute.
_MS_APART = 15
MS_APART_WITH_FRACTION = 200
_WEEK, _MANY = 7 * 86400, 1000


class BadStamp(ValueError):
    """A stamp that is there and is no time."""


@dataclass(slots=True)
class Clock:
    """Takes raw stamps one by one, then tells the unit and seconds from the first; unknown stays unknown.

    Stamps are kept as their distance to the first sound one, in raw units, for large integers lose digits as floats.
    """

    asked: str | None = None  # s, ms, us, ns or iso from --time-unit
    own: str | None = None  # the unit that the format defines
    values: "array[float]" = field(default_factory=lambda: array("d"))
    known: bytearray = field(default_factory=bytearray)
    base: int | float = 0
    dates: bool = False
    numbers: bool = False
    fractions: bool = False
    no_zone: int = 0
    _started: bool = False

    def add(self, stamp: Any) -> None:
        """Raises BadStamp; None is a request without a time."""
        if stamp is None or stamp == "":
            self.values.append(0.0)
            self.known.append(0)
            return
        number = self._number(stamp)
        if not self._started:
            self.base, self._started = number, True
        self.values.append(float(number - self.base))
        self.known.append(1)

    def drop_last(self) -> None:
        """Take back the last `add`: its request was not kept after all."""
        self.values.pop()
        self.known.pop()

    def unit(self, lowest: float, highest: float, count: int) -> tuple[str, float, str]:
        """(name, seconds of one, how it was found) for sound stamps between `lowest` and `highest`."""
        if self.dates:
            zone = f"; {self.no_zone} without a zone, taken as UTC" if self.no_zone else ""
            return "ISO 8601", 1e-9, "dates" + zone
        epoch = next((unit for size, unit in _EPOCHS if abs(self.base) >= size), None)
        if self.asked:
            return (f"epoch {self.asked}" if epoch else self.asked), UNITS[self.asked], "--time-unit"
        if self.own:
            return self.own, UNITS[self.own], "the format's own unit"
        if epoch:
            return f"epoch {epoch}", UNITS[epoch], "guessed from the size of the numbers"
        if count < 2:
            return "s", 1.0, "one time only"
        apart = (highest - lowest) / (count - 1)
        border = MS_APART_WITH_FRACTION if self.fractions else _MS_APART
        # Many requests that as seconds would take weeks are milliseconds, however close.
        unit = "ms" if apart >= border or (highest - lowest > _WEEK and apart > 1 and count > _MANY) else "s"
        kind = "numbers with a fraction" if self.fractions else "whole numbers"
        return unit, UNITS[unit], f"guessed: {kind}, {apart:.4g} apart on average; --time-unit overrules"

    def started_at(self, lowest: float) -> str | None:
        """The time of the earliest stamp as ISO 8601, where the source tells the date."""
        epoch = next((unit for size, unit in _EPOCHS if abs(self.base) >= size), None)
        if not self._started or not (self.dates or epoch):
            return None
        scale = 1e-9 if self.dates else UNITS[self.asked or self.own or epoch or "s"]
        try:
            return datetime.fromtimestamp((self.base + lowest) * scale, timezone.utc).isoformat(timespec="milliseconds")
        except (ValueError, OverflowError, OSError):
            return None

    def _number(self, stamp: Any) -> int | float:
        if isinstance(stamp, str):
            stamp = self._from_text(stamp)
        elif isinstance(stamp, bool) or not isinstance(stamp, (int, float)):
            raise BadStamp(f"the time is {str(stamp)[:40]!r}")
        else:
            self._kind(dates=False)
        if not -_BEYOND < stamp < _BEYOND:  # also refuses NaN
            raise BadStamp(f"the time is {stamp}")
        if isinstance(stamp, float):
            self.fractions = self.fractions or abs(stamp) < _EPOCHS[-1][0]
            if stamp == int(stamp) and abs(stamp) >= 2**52:
                return int(stamp)
        return stamp

    def _from_text(self, text: str) -> int | float:
        text = text.strip()
        try:
            number: int | float = int(text) if text.lstrip("+-").isdigit() else float(text.replace(",", ".", 1))
        except ValueError:
            return self._nanoseconds(text)
        self._kind(dates=False)
        return number

    def _nanoseconds(self, text: str) -> int:
        try:
            since, zone = nanoseconds(text)
        except ValueError as error:
            raise BadStamp(f"the time is {text[:40]!r}") from error
        self._kind(dates=True)
        self.no_zone += not zone
        return since

    def _kind(self, dates: bool) -> None:
        if (self.numbers and dates) or (self.dates and not dates):
            raise BadStamp("dates and numbers are mixed in this file")
        if dates:
            self.dates = True
        else:
            if self.asked == "iso":
                raise BadStamp("a number, where --time-unit iso wants dates")
            self.numbers = True


def nanoseconds(text: str) -> tuple[int, bool]:
    """(since 1970, whether the zone is told; UTC is taken otherwise) of a date. Raises ValueError."""
    cut = _FRACTION.sub(r"\1", _SLASHES.sub(r"\1-\2-\3", text).replace(",", ".", 1))
    extra = next(iter(re.findall(r"\.\d{6}(\d{1,3})", text)), "")
    when = datetime.fromisoformat(_NO_COLON.sub(r"\1:\2", cut.replace(" UTC", "+00:00")))
    zone = when.tzinfo is not None
    since = (when if zone else when.replace(tzinfo=timezone.utc)) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    whole = (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
    return whole + int(extra.ljust(3, "0") or 0), zone


def between(begin: Any, end: Any) -> float | None:
    """Seconds from one stamp to another of the same source: dates, or numbers since 1970; None where one is neither."""
    since = [_since_1970(stamp) for stamp in (begin, end)]
    return None if None in since else (since[1] - since[0]) / 1e9  # type: ignore[operator]


def _since_1970(stamp: Any) -> float | None:
    """Nanoseconds."""
    try:
        number: int | float = int(stamp) if isinstance(stamp, str) and stamp.isdigit() else stamp
        if isinstance(number, str):
            return nanoseconds(number)[0]
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not abs(number) < _BEYOND:
            return None
        unit = next(unit for size, unit in _EPOCHS if abs(number) >= size)
        return number * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    except (ValueError, StopIteration):
        return None
