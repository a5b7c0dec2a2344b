"""Many styled lines as one renderable, without being joined and split again."""

from collections.abc import Sequence

from textual.content import Content


class Drawing(Content):
    """Content of whole lines.

    Textual splits a Content into its lines at a cost of lines times spans, 7 ms for a plot; these are split already.
    """

    def __init__(self, lines: Sequence[Content]) -> None:
        super().__init__("\n".join(line.plain for line in lines))
        self._split = list(lines)

    def split(
        self, separator: str = "\n", *, include_separator: bool = False, allow_blank: bool = False
    ) -> list[Content]:
        return list(self._split)
