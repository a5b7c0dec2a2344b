"""Many styled lines as one renderable; a line that was drawn before is not made anew."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions

_KEPT = 2_048
_made: dict[tuple[object, ...], Strip] = {}


class Drawing(Content):
    """Content of whole lines, each no wider than its widget, left-aligned.

    Textual splits a Content into its lines at a cost of lines times spans, 7 ms for a plot; these are split already.
    From one picture to the next most lines stay as they were, and a Strip remembers what it was cropped and
    filtered to: keeping them halves the cost of a screen full of panels. `theme` names what the roles stand for.
    """

    def __init__(self, lines: Sequence[Content], theme: str = "") -> None:
        super().__init__("\n".join(line.plain for line in lines))
        self._split = list(lines)
        self._theme = theme

    def split(
        self, separator: str = "\n", *, include_separator: bool = False, allow_blank: bool = False
    ) -> list[Content]:
        return list(self._split)

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        if options.selection is not None or options.post_style is not None:
            return super().render_strips(width, height, style, options)
        lines = self._split if height is None else self._split[:height]
        return [self._strip(y, line, width, style, options) for y, line in enumerate(lines)]

    def _strip(self, y: int, line: Content, width: int, style: Style, options: RenderOptions) -> Strip:
        key = (y, line.plain, tuple(line.spans), width, style, self._theme)
        if (strip := _made.get(key)) is None:
            if len(_made) >= _KEPT:
                _made.clear()
            strip = _made[key] = _rendered(y, line, width, style, options)
        return strip


def _rendered(y: int, line: Content, width: int, style: Style, options: RenderOptions) -> Strip:
    """As Textual does it; the place of each piece is in its style, for a selection with the mouse."""
    segments, x = [], 0
    for text, own in line.truncate(width).render(style, end="", parse_style=options.get_style):
        segments.append(Segment(text, (style + own).rich_style_with_offset(x, y)))
        x += len(text)
    return Strip(segments)
