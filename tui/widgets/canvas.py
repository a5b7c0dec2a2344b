"""A grid of cells to draw on, which comes out as lines of Content with as few pieces as it can."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.content import Content

EIGHTHS = " ▁▂▃▄▅▆▇█"
_SHADES = {"█": "", "▒": " 45%", "░": " 30%"}


class Canvas:
    """`width` x `height` cells, (0, 0) top left. What lies outside is not drawn. Every character is one cell wide."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(0, width), max(0, height)
        self._cells = [[" "] * self.width for _ in range(self.height)]
        self._styles = [[""] * self.width for _ in range(self.height)]

    def put(self, x: int, y: int, char: str, style: str = "") -> None:
        if 0 <= x < self.width and 0 <= y < self.height:
            self._cells[y][x], self._styles[y][x] = char, style

    def text(self, x: int, y: int, text: str, style: str = "") -> None:
        for at, char in enumerate(text, x):
            self.put(at, y, char, style)

    def free(self, x: int, y: int, cells: int) -> bool:
        """Whether `cells` cells from (x, y) are on the canvas and empty."""
        inside = 0 <= y < self.height and x >= 0 and x + cells <= self.width
        return inside and all(char == " " for char in self._cells[y][x : x + cells])

    def column(self, x: int, floor: int, value: float, style: str, fill: str = "█") -> None:
        """A column that stands on row `floor`, `value` cells high; a full block ends in eighths of a cell."""
        whole = int(value)
        eighths = round((value - whole) * 8)
        if fill != "█":
            whole, eighths = (max(1, round(value)) if value > 0 else 0), 0
        for row in range(whole):
            self.put(x, floor - row, fill, style)
        if eighths or (value > 0 and not whole):
            self.put(x, floor - whole, EIGHTHS[max(1, eighths)], style)

    def level(self, y: int, first: int, last: int, style: str, char: str = "┄") -> None:
        """A line across; where it crosses a filled cell, that cell's colour stays behind it."""
        if not 0 <= y < self.height:
            return
        for x in range(max(0, first), min(self.width, last + 1)):
            shade = _SHADES.get(self._cells[y][x])
            self.put(x, y, char, style if shade is None else f"{style} on {self._styles[y][x]}{shade}")

    def lines(self) -> list[Content]:
        return [_line(cells, styles) for cells, styles in zip(self._cells, self._styles, strict=True)]


def _line(cells: Sequence[str], styles: Sequence[str]) -> Content:
    parts: list[tuple[str, str]] = []
    start = 0
    for x in range(1, len(cells) + 1):
        if x == len(cells) or styles[x] != styles[start]:
            parts.append(("".join(cells[start:x]), styles[start]))
            start = x
    return Content.assemble(*parts)


def axis(canvas: Canvas, y: int, left: int, ticks: Iterable[tuple[int, str]]) -> None:
    """Labels of the x axis on row `y`, each centred on its column counted from `left`, kept on the canvas and apart.

    The last one, which may have the unit, comes before its neighbours.
    """
    *others, last = [*ticks] or [(0, "")]
    for column, label in (last, *others):
        start = min(max(left, left + column - len(label) // 2), canvas.width - len(label))
        ends = [x for x in (start - 1, start + len(label)) if 0 <= x < canvas.width]
        if canvas.free(start, y, len(label)) and all(canvas.free(x, y, 1) for x in ends):
            canvas.text(start, y, label, "$dim")


def fit(text: str, cells: int, right: bool = False) -> str:
    """`text` in exactly `cells` cells, wide characters counted as two; what is too long loses its beginning."""
    while cell_len(text) > cells:
        text = text[1:]
    blank = " " * (cells - cell_len(text))
    return blank + text if right else text + blank
