"""What lies dimmed behind a window: drawn when the window opens, and not anew with every change of either.

Textual tints the whole screen behind for each of the four or so layouts in which a window comes up, and again whenever
something moves there: that took longer than all the rest of opening one. What moves behind a window nobody reads.
"""

from typing import Any

from textual.renderables.background_screen import BackgroundScreen
from textual.strip import Strip
from textual.visual import Visual


class Backdrop(Visual):
    """A picture of another screen under a tint."""

    def __init__(self, strips: list[Strip]) -> None:
        self._strips = strips

    @classmethod
    def of(cls, behind: BackgroundScreen) -> "Backdrop":
        lines = behind.screen._compositor.render_strips()
        return cls([Strip([*behind.process_segments(line, behind.color)], line.cell_length) for line in lines])

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
