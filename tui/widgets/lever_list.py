"""The levers in the order that matters for RAG, each with what runs and what is pending."""

from dataclasses import dataclass
from typing import NamedTuple

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui.session.snapshot import LeverView, Snapshot
from tui.widgets.engine_facts import facts, rows
from tui.widgets.panel import Panel, words
from tui.widgets.plain import plain

GROUPS = ("reuse", "scheduling", "memory", "speculation", "kernel")
_WIDEST = 52
"""Cells between which a row is still read across."""

Row = str | LeverView  # a group's name, or a lever


class View(NamedTuple):
    levers: tuple[LeverView, ...]
    mismatches: tuple[str, ...]
    cursor: int
    focused: bool
    facts: tuple[tuple[str, str], ...] = ()  # of the engine that these are the levers of


def in_order(levers: tuple[LeverView, ...]) -> tuple[LeverView, ...]:
    """By group in RAG's order of priority, extra ones behind; unknown groups last, otherwise as they came."""

    def place(lever: LeverView) -> tuple[bool, int]:
        return lever.extra, GROUPS.index(lever.group) if lever.group in GROUPS else len(GROUPS)

    return tuple(sorted(levers, key=place))


def _heading(lever: LeverView) -> str:
    return "more" if lever.extra else lever.group


def toggled(lever: LeverView) -> str | None:
    """The value that space asks for; None where only editing makes sense."""
    now = lever.pending or lever.asked or lever.applied or lever.default or ""
    if lever.toggle is not None:
        off, on = lever.toggle
        if now != off:
            return off
        return lever.asked if lever.asked not in (off, "") else on
    if lever.choices:
        place = lever.choices.index(now) if now in lever.choices else -1
        return lever.choices[(place + 1) % len(lever.choices)]
    return None


def differs(lever: LeverView, mismatches: tuple[str, ...]) -> bool:
    """Whether the engine was found to run this lever otherwise than asked."""
    return any(lever.name in sentence or lever.title in sentence for sentence in mismatches)


class LeverList(Panel):
    TELLS = "What the engine was asked to run. A change is pending until it is applied; applying restarts the engine."

    BINDINGS = [
        Binding("space", "toggle", "toggle", id="lever.toggle", tooltip="toggle the lever under the cursor"),
        Binding("enter", "edit", "edit", id="lever.edit", tooltip="type a value for the lever under the cursor"),
        Binding("up,k", "move(-1)", "up", show=False, id="lever.up", tooltip="go to the lever above"),
        Binding("down,j", "move(1)", "down", show=False, id="lever.down", tooltip="go to the lever below"),
        Binding("home", "move(-99)", "first", show=False),
        Binding("end", "move(99)", "last", show=False),
    ]

    cursor = reactive(0, init=False)

    @dataclass
    class Set(Message):
        """A value is asked for."""

        name: str
        value: str

    @dataclass
    class Edit(Message):
        """A value is to be typed for this lever."""

        lever: LeverView

    @dataclass
    class Moved(Message):
        """Another lever is under the cursor."""

        lever: LeverView

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._snapshot = Snapshot()
        self._top = 0
        self._rows: list[Row] = []

    @property
    def lever(self) -> LeverView | None:
        """The lever under the cursor."""
        levers = in_order(self._snapshot.levers)
        return levers[min(self.cursor, len(levers) - 1)] if levers else None

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        super().show(snapshot)

    def view(self, snapshot: Snapshot) -> View:
        levers = in_order(snapshot.levers)
        cursor = max(0, min(self.cursor, len(levers) - 1))
        return View(levers, snapshot.engine.mismatches, cursor, self.has_focus, facts(snapshot.engine))

    def heading(self, view: View) -> list[Content]:
        return [words("Levers")]

    def draw(self, view: View, width: int, height: int) -> list[Content]:
        if not view.levers:
            return [words(("no levers known yet", "$dim"))]
        lines: list[tuple[Row, Content]] = []
        for index, lever in enumerate(view.levers):
            if index == 0 or _heading(lever) != _heading(view.levers[index - 1]):
                lines.append((_heading(lever), words((plain(_heading(lever)), "$dim"))))
            at = index == view.cursor
            for line in _lines(lever, width, at, at and view.focused, differs(lever, view.mismatches)):
                lines.append((lever, line))
        cut = 3 < height < len(lines)
        height -= cut
        here = [number for number, (row, _) in enumerate(lines) if row is view.levers[view.cursor]]
        self._top = max(0, min(self._top, here[0] - 1, len(lines) - height))
        self._top = max(self._top, here[-1] - height + 1)
        shown = lines[self._top : self._top + height]
        if cut and isinstance(shown[-1][0], str):
            shown.pop()  # a heading without a lever under it
        more = [_more(lines[: self._top], lines[self._top + height :])] if cut else []
        self._rows = [row for row, _ in shown]
        free = height - len(shown) - 2
        roomy = 0 < len(view.facts) < free
        told = [words(("engine", "$dim")), *rows(view.facts, min(width, _WIDEST))] if roomy else []
        return [*(line for _, line in shown), *more, *([Content("")] if told else []), *told]

    def watch_cursor(self) -> None:
        self.show(self._snapshot)
        if self.lever is not None:
            self.post_message(self.Moved(self.lever))

    def on_focus(self) -> None:
        self.show(self._snapshot)

    def on_blur(self) -> None:
        self.show(self._snapshot)

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        row = self._rows[place.y] if place is not None and place.y < len(self._rows) else None
        if isinstance(row, LeverView):
            self.cursor = in_order(self._snapshot.levers).index(row)
            self.action_toggle()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    def action_move(self, by: int) -> None:
        self.cursor = max(0, min(self.cursor + by, len(self._snapshot.levers) - 1))

    def action_toggle(self) -> None:
        if (lever := self.lever) is None or lever.missing is not None:
            return  # the note under the list says why
        value = toggled(lever)
        self.post_message(self.Edit(lever) if value is None else self.Set(lever.name, value))

    def action_edit(self) -> None:
        if (lever := self.lever) is not None and lever.missing is None:
            self.post_message(self.Edit(lever))

    def edit(self, name: str) -> None:
        """Put the cursor on the lever `name`, and let a value be typed for it."""
        for place, lever in enumerate(in_order(self._snapshot.levers)):
            if lever.name == name:
                self.cursor = place
                self.action_edit()


def _more(above: list[tuple[Row, Content]], below: list[tuple[Row, Content]]) -> Content:
    """How many levers are out of sight, and where."""
    counts = [len({row.name for row, _ in rows if isinstance(row, LeverView)}) for rows in (above, below)]
    told = [f"{arrow} {count} more" for arrow, count in zip("↑↓", counts, strict=True) if count]
    return words(("  " + " · ".join(told), "$dim"))


def _lines(lever: LeverView, width: int, at: bool, focused: bool, differs: bool) -> list[Content]:
    """One line, or two when title and value do not fit side by side."""
    width = min(width, _WIDEST)
    title = plain(lever.title, width - 2)
    head = words(("▸ " if at else "  ", "bold $primary"), title if lever.missing is None else (title, "$dim strike"))
    value = _value(lever, differs)
    back = "on $block-cursor-background" if focused else ""
    room = width - head.cell_length - value.cell_length
    if room >= 1:
        return [_stylize(words(head, " " * room, value), back)]
    value = value.truncate(width - 2, ellipsis=True)
    second = words(" " * (width - value.cell_length), value)
    return [_stylize(words(head, " " * (width - head.cell_length)), back), _stylize(second, back)]


def _stylize(line: Content, style: str) -> Content:
    return line.stylize_before(style) if style else line


def _value(lever: LeverView, differs: bool) -> Content:
    asked = plain(lever.asked, 40)
    mark = ("≠ ", "bold $error") if differs else ""
    if lever.missing is not None and lever.pending is None:
        return words(("not here", "$dim"))
    if not asked and lever.pending is None:  # nobody asked: what runs, else what vLLM chooses
        return words((plain(lever.applied or lever.default or "unknown", 40), "$dim"))
    if lever.pending is not None:
        before = asked or plain(lever.applied or lever.default or "", 40)
        return words(mark, (f"{before} → ", "$dim"), (plain(lever.pending, 40), "bold $warning"))
    if asked == "off":
        return words(mark, ("○ off", "$dim"))
    return words(mark, ("● on", "$success") if asked == "on" else asked)
