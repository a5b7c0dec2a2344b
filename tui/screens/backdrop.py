"""What lies dimmed behind a window: one faint colour, drawn when the window opens and not anew with every change.

Textual tints the whole screen behind, piece by piece in all its colours, for each of the four or so layouts in which a
window comes up, and again whenever something moves there: that took longer than all the rest of opening one. What moves
behind a window nobody reads, and what is coloured there draws the eye away from it.
"""

from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.renderables.background_screen import BackgroundScreen
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
        lines = behind.screen._compositor.render_strips()
        return cls([Strip([Segment(line.text, faint)], line.cell_length) for line in lines])

    def render_strips(self, width: int, height: int | None, style: Any, options: Any) -> list[Strip]:
        lines = self._strips if height is None else self._strips[:height]
        return [line.adjust_cell_length(width, style.rich_style) for line in lines]

    def get_optimal_width(self, rules: Any, container_width: int) -> int:
        return container_width

    def get_height(self, rules: Any, width: int) -> int:
        return len(self._strips)


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
