"""Numbers in a report: a unit with each, and a word where a number would be a guess."""

from collections.abc import Mapping
from typing import Any

from tui.session.stats import Dist

NONE = "–"  # there was nothing to measure
UNKNOWN = "unknown"
FEW = "too few"

_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def seconds(value: float | None) -> str:
    """``20 µs``, ``0.4 ms``, ``134 ms``, ``0.84 s``, ``12.9 s``, ``130 s``."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.00005:
        return f"{value * 1e6:.0f} µs"
    if value < 0.2:
        return f"{value * 1000:.1f} ms" if value < 0.01 else f"{value * 1000:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def number(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def size(value: int | None) -> str:
    if value is None:
        return UNKNOWN
    unit, name = next(((unit, name) for unit, name in _SIZES if value >= unit), (1, "B"))
    return f"{value / unit:.2f} {name}"


def quantile(dist: Dist, name: str) -> str:
    """A quantile in seconds; `NONE` without samples, `FEW` where there are too few for it."""
    if not dist["n"]:
        return NONE
    return FEW if dist[name] is None else seconds(dist[name])


def pair(dist: Dist) -> str:
    """``p50 / p95``."""
    return NONE if not dist["n"] else f"{quantile(dist, 'p50')} / {quantile(dist, 'p95')}"


def hits(cache: Mapping[str, Any]) -> str:
    return "off" if cache["state"] == "off" else share(cache["hit_rate"])


def acceptance(speculative: Mapping[str, Any]) -> str:
    return "off" if speculative["state"] == "off" else share(speculative["acceptance_rate"])


def ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}" if value >= 0.0995 else f"{value:.3f}"
