"""The bottom line: the keys that do something here and now, whole or not at all."""

from textual.binding import Binding
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

_ALWAYS = ("help", "quit", "palette")
"""Binding ids at the right end, kept on the narrowest screen as long as they fit."""


class Keys(Widget):
    """Drawn in one piece, for it follows every change of focus; each key can be clicked."""

    auto_links = False  # links would take their colours from the widget, not from the roles

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        width = self.content_size.width
        offers = getattr(self.screen, "offers", lambda binding: True)
        active = [one.binding for one in self.screen.active_bindings.values() if one.enabled]
        offered = [binding for binding in active if offers(binding)]
        right = _row([one for one in offered if one.id in _ALWAYS], self, width)
        here = [one for one in offered if one.show and one.id not in _ALWAYS]
        left = _row(here, self, width - right.cell_length - (2 if right else 0))
        gap = " " * max(0, width - left.cell_length - right.cell_length)
        return Content.assemble(left, gap, right)


def _row(bindings: list[Binding], widget: Widget, room: int) -> Content:
    row = Content("")
    # One key is enough for an action that has several.
    for binding in reversed({one.action: one for one in reversed(bindings)}.values()):
        key = binding.key_display or widget.app.get_key_display(binding)
        part = Content.assemble((key, "bold $footer-key-foreground"), (f" {binding.description}", "$dim"))
        part = part.stylize(Style.from_meta({"@click": f"app.simulate_key('{binding.key.split(',')[0]}')"}))
        longer = Content.assemble(row, "  ", part) if row else part
        if longer.cell_length > room:
            continue
        row = longer
    return row
