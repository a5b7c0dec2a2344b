"""A course over time as a line of text: a block a column, an empty column where nothing was measured."""

from collections.abc import Sequence

COLUMNS = 60
BLOCKS = "▁▂▃▄▅▆▇█"

Point = tuple[float, float | None]


def sparkline(points: Sequence[Point], start: float, end: float, top: float, columns: int = COLUMNS) -> str:
    """`points` are (time, value of the span that ends then); values from 0 to `top`. A column shows its highest."""
    return "".join(" " if value is None else _block(value, top) for value in binned(points, start, end, columns))


def binned(points: Sequence[Point], start: float, end: float, columns: int) -> list[float | None]:
    """The highest value in each of so many equal parts of the time. A span longer than a part fills all its parts."""
    found: list[float | None] = [None] * columns
    width = (end - start) / columns
    if width <= 0:
        return found
    before = start
    for at, value in points:
        if value is not None:
            first = max(0, min(columns - 1, int((before - start) / width)))
            last = max(first, min(columns - 1, int((at - start) / width - 1e-9)))
            for place in range(first, last + 1):
                known = found[place]
                found[place] = value if known is None else max(known, value)
        before = at
    return found


def _block(value: float, top: float) -> str:
    share = min(1.0, max(0.0, value / top)) if top > 0 else 0.0
    return BLOCKS[min(len(BLOCKS) - 1, int(share * len(BLOCKS)))]
