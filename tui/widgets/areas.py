"""Where one area is shown at a time: the names of all, with the key of each and the one in hand marked."""

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from tui.widgets.key_names import key
from tui.widgets.panel import words

NAMES = {
    "ttft": ("TTFT", "TTFT"),
    "kv": ("KV cache", "KV"),
    "prefix": ("prefix hits", "hits"),
    "acceptance": ("acceptance", "accept"),
    "levers": ("levers", "levers"),
    "runs": ("runs", "runs"),
    "requests": ("requests", "reqs"),
}
"""Of each area, in the order of the keys 1 to 7: its name, and a shorter one."""


class Areas(Widget):
    """One line; a click goes where the key does."""

    auto_links = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._area = ""

    def mark(self, area: str) -> None:
        if area != self._area:
            self._area = area
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        choices = [self._line([pair[0] for pair in NAMES.values()]), self._line([pair[1] for pair in NAMES.values()])]
        return next((line for line in choices if line.cell_length <= width), self._line(None))

    def _line(self, names: list[str] | None) -> Content:
        """Without names, only the area in hand is named."""
        line = Content("")
        for number, (area, (name, _)) in enumerate(NAMES.items()):
            here = area == self._area
            text = names[number] if names else name if here else ""
            style = "bold $primary reverse" if here else "$dim"
            shown = f" {key(f'area.{area}')}{'' if text else ' '}"
            part = words((shown, style if here else "bold $footer-key-foreground"), (text and f" {text} ", style))
            line += part.stylize(Style.from_meta({"@click": f"screen.area('{area}')"}))
        return line
