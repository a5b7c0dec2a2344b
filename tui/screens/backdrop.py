"""What lies dimmed behind a window: one faint colour, drawn when the window opens and not anew with every change.

Textual tints the whole screen behind, piece by piece in all its colours, for each of the four or so layouts in which a
window comes up, and again whenever something moves there: that took longer than all the rest of opening one. What moves
behind a window nobody reads, and what is coloured there draws the eye away from it.
"""

from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip
from textual.visual import Visual


class Backdrop(Visual):
    """The text of another screen, under its tint."""

    def __init__(self, strips: list[Strip]) -> None:
        self._strips = strips

    @classmethod
    def of(cls, behind: BackgroundScreen) -> "Backdrop":
        styles, tint = behind.screen.styles, behind.color
        faint = Style.from_color((styles.color + tint).rich_color, (styles.background + tint).rich_color)
        return cls([Strip([Segment(line, faint)], cell_len(line)) for line in _lines(behind.screen)])

    def render_strips(self, width: int, height: int | None, style: Any, options: Any) -> list[Strip]:
        lines = self._strips if height is None else self._strips[:height]
        return [line.adjust_cell_length(width, style.rich_style) for line in lines]

    def get_optimal_width(self, rules: Any, container_width: int) -> int:
        return container_width

    def get_height(self, rules: Any, width: int) -> int:
        return len(self._strips)


def _lines(screen: Screen[Any]) -> list[str]:
    """What a screen shows, as text. In its colours it would be cut into hundreds of pieces first."""
    laid_out = screen._compositor  # at a size which the screen may not have any more
    rows = [[" "] * laid_out.size.width for _ in range(laid_out.size.height)]
    for widget, (region, clip) in reversed(laid_out.visible_widgets.items()):  # the front last
        seen = region.intersection(clip).intersection(laid_out.size.region)
        for y, strip in enumerate(widget.render_lines(seen.translate(-region.offset)), seen.y):
            rows[y][seen.x : seen.right] = _cells(strip.text)
    return ["".join(row) for row in rows]


def _cells(text: str) -> list[str]:
    """A character a cell; of a wide one the second cell is empty, and what has no width stands beside its neighbour."""
    if cell_len(text) == len(text):
        return list(text)
    cells: list[str] = []
    for char in text:
        width = cell_len(char)
        if width or not cells:
            cells += [char, *[""] * (width - 1)]
        else:
            cells[-1] += char
    return cells


class Backed:
    """To be mixed into a Screen with a translucent background."""

    _backdrop: Backdrop | None = None
    _backdrop_of: tuple[object, ...] = ()

    def render(self) -> Any:
        made = super().render()  # type: ignore[misc]
        if not isinstance(made, BackgroundScreen):
            return made
        of = (made.screen, made.screen.size, made.color, self.size)  # type: ignore[attr-defined]
        if self._backdrop is None or self._backdrop_of != of:
            self._backdrop, self._backdrop_of = Backdrop.of(made), of
        return self._backdrop
