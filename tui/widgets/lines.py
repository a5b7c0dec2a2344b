"""A widget that is as high as its lines need at the width it gets."""

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tui.widgets.drawing import Drawing


class Lines(Widget):
    """Subclasses give `lines`; a change of what they say calls `refresh(layout=True)`."""

    auto_links = False  # nothing here is a link, and looking for some costs a tenth of a drawing

    def lines(self, width: int) -> list[Content]:
        raise NotImplementedError

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(max(1, width)))

    def render(self) -> Content:
        width, height = self.content_size
        lines = self.lines(max(1, width))
        if 0 < height < len(lines):  # what is cut off is seen to be
            last = lines[height - 1].truncate(max(0, width - 1))
            lines = [*lines[: height - 1], Content.assemble(last, ("…", "$dim"))]
        return Drawing(lines, self.app.theme)
