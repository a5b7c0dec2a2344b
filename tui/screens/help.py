"""Keys, what each panel tells, and the glyphs; built from what the widgets declare."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.widgets.acceptance import Acceptance
from tui.widgets.kv import KvCache
from tui.widgets.lever_list import LeverList
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


class HelpScreen(ModalScreen[None]):
    BINDINGS = [Binding("escape,question_mark,q", "dismiss", "back", id="help.back", tooltip="back to the dashboard")]

    def __init__(self, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._bindings = [binding for binding in bindings if binding.tooltip]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help-box") as box:
            box.border_title = "Help"
            box.border_subtitle = "escape closes"
            yield Static(Content("\n").join((*self._keys(), *_tells(), *_classes())))

    def on_mount(self) -> None:
        self.query_one("#help-box").focus()

    def _keys(self) -> Iterable[Content]:
        yield words(("Keys", "bold"))
        for binding in self._bindings:
            keys = " ".join(self.app.get_key_display(Binding(key, "", "")) for key in binding.key.split(","))
            yield words((f"  {keys:<14}", "bold $primary"), binding.tooltip)


def _tells() -> Iterable[Content]:
    yield words(("\nWhat each area tells", "bold"))
    for name, tells in _TELLS:
        yield words((f"  {name:<14}", "bold"), (tells, "$dim"))


def _classes() -> Iterable[Content]:
    yield words(("\nRequests by their prompt", "bold"))
    for reuse, meaning in _CLASSES.items():
        yield words((f"  {GLYPHS[reuse]} {reuse:<12}", f"${reuse}"), (meaning, "$dim"))
    yield words(("  ┊ ┄", "$baseline"), ("           the baseline run, a peak or a ceiling", "$dim"))
    yield words(("  ▾ ▿", "bold"), ("           p50 and p95 of a class", "$dim"))
