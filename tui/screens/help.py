"""Keys, what each panel tells, and the glyphs; built from what the widgets declare."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from tui.widgets.acceptance import Acceptance
from tui.widgets.kv import KvCache
from tui.widgets.lever_list import LeverList
from tui.widgets.lines import Lines
from tui.widgets.look import GLYPHS
from tui.widgets.numbers import Numbers
from tui.widgets.panel import words
from tui.widgets.prefix import PrefixHits
from tui.widgets.requests import Requests
from tui.widgets.runs import Runs
from tui.widgets.ttft import Ttft

_TELLS = (
    ("1 TTFT", Ttft.TELLS),
    ("2 KV cache", KvCache.TELLS),
    ("3 Prefix hits", PrefixHits.TELLS),
    ("4 Acceptance", Acceptance.TELLS),
    ("5 Levers", LeverList.TELLS),
    ("6 Runs", Runs.TELLS),
    ("7 Requests", Requests.TELLS),
    ("Numbers", Numbers.TELLS),
)
_CLASSES = {
    "cold": "no prompt token was cached",
    "partial": "under half of the prompt was cached",
    "warm": "half or more of the prompt was cached",
    "unknown": "the engine did not report it",
}
_MARKS = (
    ("┄", "the baseline run, a peak, or a ceiling"),
    ("▾ ▿", "p50 and p95 of a class"),
    ("┊", "a lever changed here"),
    ("≠", "the engine runs something else than was asked"),
)
_FIRST = 17


class HelpScreen(ModalScreen[None]):
    """Closed by the keys that opened it, too."""

    BINDINGS = [Binding("escape,question_mark,q", "dismiss", "back", id="help.back", tooltip="back to the dashboard")]

    def __init__(self, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._offered = [binding for binding in bindings if binding.tooltip]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help-box") as box:
            box.border_title = "Help"
            box.border_subtitle = "escape closes"
            yield HelpText(self._offered)

    def on_mount(self) -> None:
        self.query_one("#help-box").focus()


class HelpText(Lines):
    """Two columns, the second wrapped beside the first."""

    def __init__(self, bindings: list[Binding]) -> None:
        super().__init__()
        self._offered = bindings

    def lines(self, width: int) -> list[Content]:
        rows = [words(("Keys", "bold"))]
        for binding in self._offered:
            keys = " ".join(self.app.get_key_display(Binding(key, "", "")) for key in binding.key.split(","))
            rows += _row(words((keys, "bold $primary")), binding.tooltip, width)
        rows += [Content(""), words(("What each area tells", "bold"))]
        for name, tells in _TELLS:
            rows += _row(words((name, "bold")), tells, width)
        rows += [Content(""), words(("Glyphs", "bold"))]
        for reuse, meaning in _CLASSES.items():
            rows += _row(words((f"{GLYPHS[reuse]} {reuse}", f"${reuse}")), meaning, width)
        for glyphs, meaning in _MARKS:
            rows += _row(words((glyphs, "bold")), meaning, width)
        return rows


def _row(name: Content, text: str, width: int) -> list[Content]:
    """`name` in the first column; the words after it hang beside."""
    wrapped = list(Content(text).stylize("$dim").wrap(max(12, width - _FIRST)))
    first = words("  ", name, " " * max(1, _FIRST - 2 - name.cell_length), wrapped[0])
    return [first, *(words(" " * _FIRST, line) for line in wrapped[1:])]
