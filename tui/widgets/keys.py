"""The bottom line: the keys that do something here and now, whole or not at all."""

from collections.abc import Callable

from textual.binding import ActiveBinding, Binding
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

_ALWAYS = ("help", "quit", "palette")
"""Binding ids at the right end, kept on the narrowest screen as long as they fit."""

_ROOMY = 70
"""Cells from which the log's key is kept as well: it is wanted when something goes wrong."""


class Keys(Widget):
    """Drawn in one piece, for it follows every change of focus; each key can be clicked."""

    auto_links = False  # links would take their colours from the widget, not from the roles

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        width = self.content_size.width
        offers = getattr(self.screen, "offers", lambda binding: True)
        active = [one for one in self.screen.active_bindings.values() if one.enabled and offers(one.binding)]
        offered = [one.binding for one in sorted(active, key=_place(active))]
        kept = (*_ALWAYS, "log") if width >= _ROOMY else _ALWAYS
        right = _row([one for one in offered if one.id in kept], self, width)
        here = [one for one in offered if one.show and one.id not in kept]
        left = _row(here, self, width - right.cell_length - (2 if right else 0))
        gap = " " * max(0, width - left.cell_length - right.cell_length)
        return Content.assemble(left, gap, right)


def _place(active: list[ActiveBinding]) -> Callable[[ActiveBinding], tuple[int, int]]:
    """Sorts as declared, whichever key a binding has: by the widget, the screen, the app, and within each."""
    nodes = list(dict.fromkeys(one.node for one in active))
    declared = {
        node: [getattr(one, "id", None) for base in type(node).__mro__ for one in base.__dict__.get("BINDINGS", ())]
        for node in nodes
    }

    def place(one: ActiveBinding) -> tuple[int, int]:
        ids, id = declared[one.node], one.binding.id
        return nodes.index(one.node), ids.index(id) if id in ids else len(ids)

    return place


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
