"""Numbers as words for the screen: each with its unit, and each kind of nothing with its own word."""

from typing import Any

UNKNOWN = "–"  # not measured, or not told by the engine
NONE = "none"  # measured: there was not one sample
FEW = "few"  # too few samples for this quantile


def seconds(value: float | None, unit: bool = True) -> str:
    """A latency in seconds with three figures at most: 0.083, 0.62, 12.9, 104."""
    if value is None:
        return UNKNOWN
    digits = 3 if value < 0.0995 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}" + (" s" if unit else "")


def millis(value: float | None, unit: bool = True) -> str:
    """A short time given in seconds, shown in milliseconds: 4.2 ms, 34 ms."""
    if value is None:
        return UNKNOWN
    thousandth = value * 1_000
    return f"{thousandth:.{1 if thousandth < 9.95 else 0}f}" + (" ms" if unit else "")


def clock(value: float | None) -> str:
    """A duration as a clock shows it: 0:21, 12:05, 1:02:03."""
    if value is None:
        return UNKNOWN
    whole = max(0, int(value))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def age(value: float | None) -> str:
    """How long ago, in the coarsest unit that tells enough: 8 s, 12 m, 3 h, 2 d."""
    if value is None:
        return UNKNOWN
    whole = max(0, int(value))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def percent(value: float | None) -> str:
    """A share of 0..1 in percent; a share that is not quite zero is not shown as zero."""
    if value is None:
        return UNKNOWN
    hundredth = value * 100
    if 0 < hundredth < 0.05:
        return "< 0.1 %"
    return f"{hundredth:.{1 if 0 < hundredth < 9.95 else 0}f} %"


def count(value: float | None) -> str:
    """A whole number with thousands apart: 46,592."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """Tokens a second: 3.4, 24, 1,830."""
    if value is None:
        return UNKNOWN
    return f"{value:,.{1 if 0 < value < 9.95 else 0}f}"


def size(value: int | None) -> str:
    """Bytes in binary units: 812 MiB, 2.3 GiB."""
    if value is None:
        return UNKNOWN
    amount, unit = value / 2**20, "MiB"
    if amount >= 1_000:
        amount, unit = amount / 1_024, "GiB"
    return f"{amount:.{1 if amount < 99.95 and unit == 'GiB' else 0}f} {unit}"


def times(value: float | None) -> str:
    """A ratio to the baseline: 12.3x, 0.94x."""
    if value is None:
        return UNKNOWN
    return f"{value:.{1 if value >= 9.95 else 2}f}x"


def pair(dist: dict[str, Any] | None, scale: float = 1.0) -> str:
    """p50 / p95 of a DIST without a unit; `scale` 1000 shows milliseconds."""
    if dist is None or dist.get("n") is None:
        return UNKNOWN
    if not dist["n"]:
        return NONE
    shown = millis if scale != 1.0 else seconds
    p50, p95 = dist.get("p50"), dist.get("p95")
    return f"{FEW if p50 is None else shown(p50, unit=False)} / {FEW if p95 is None else shown(p95, unit=False)}"
