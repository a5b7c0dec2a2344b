"""Under the runs: the one lever that is worth trying next, and the figure it rests on."""

from textual.content import Content

from tui.widgets.lines import Lines
from tui.widgets.panel import words
from tui.widgets.plain import plain

MOST = 400  # characters
LINES = 2


class NextStep(Lines):
    """Takes no room where there is nothing to say."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._said: str | None = None
        self.display = False

    def tell(self, sentence: str | None) -> None:
        if sentence == self._said:
            return
        self._said = sentence
        self.display = sentence is not None
        self.refresh(layout=True)

    def lines(self, width: int) -> list[Content]:
        if self._said is None:
            return []
        setting, colon, why = plain(self._said, MOST).partition(": ")
        line = words(("next  ", "$dim"), (setting, "bold"), colon, why)
        found = list(line.wrap(width))
        if len(found) > LINES:
            found = [*found[: LINES - 1], words(found[LINES - 1].truncate(width - 1), ("…", "$dim"))]
        return found
