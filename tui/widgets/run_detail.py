"""Under the runs: the verdict on the one under the cursor, its ratios to the baseline, and what had no column."""

from textual.content import Content

from tui.widgets.lines import Lines
from tui.widgets.panel import flow


class RunDetail(Lines):
    """A part is never broken over two lines."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._said: tuple[str, list[Content], list[Content]] = ("", [], [])

    def tell(self, verdict: str, ratios: list[Content], rest: list[Content]) -> None:
        self._said = (verdict, ratios, rest)
        self.refresh(layout=True)

    def lines(self, width: int) -> list[Content]:
        verdict, ratios, rest = self._said
        first = list(Content(verdict).wrap(width)) if verdict else []
        flowing = [*flow(ratios, width), *flow(rest, width)]
        return [*first, *(part for line in flowing for part in line.wrap(width))]
