"""Help for where you are: what it tells and its keys first, then all keys, areas and glyphs; built from the widgets."""

from collections.abc import Iterable, Mapping

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen

from tui.screens.once import Once
from tui.widgets.acceptance import Acceptance
from tui.widgets.failure import FailureView
from tui.widgets.kv import KvCache
from tui.widgets.lever_list import LeverList
from tui.widgets.lines import Lines
from tui.widgets.log_view import LogView
from tui.widgets.look import GLYPHS
from tui.widgets.numbers import Numbers
from tui.widgets.panel import words
from tui.widgets.prefix import PrefixHits
from tui.widgets.requests import Requests
from tui.widgets.runs import Runs
from tui.widgets.startup import Startup
from tui.widgets.ttft import Ttft

TELLS = {
    "ttft": ("TTFT", Ttft.TELLS),
    "kv": ("KV cache", KvCache.TELLS),
    "prefix": ("Prefix hits", PrefixHits.TELLS),
    "acceptance": ("Acceptance", Acceptance.TELLS),
    "levers": ("Levers", LeverList.TELLS),
    "runs": ("Runs", Runs.TELLS),
    "requests": ("Requests", Requests.TELLS),
    "numbers": ("Now", Numbers.TELLS),
}
_ELSEWHERE = {
    "log": ("Engine log", LogView.TELLS),
    "startup": ("Engine coming up", Startup.TELLS),
    "failure": ("Engine failed", FailureView.TELLS),
}
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
_MOUSE = (
    ("click", "go to an area; toggle a lever; choose a run; press a key of the bottom line"),
    ("twice", "show an area alone, or all again"),
    ("wheel", "scroll; on the levers, move the cursor"),
)
_COPYING = "Copying goes through the terminal (OSC 52). In tmux it needs: set -s set-clipboard on"
_FIRST = 17
_WIDEST = 100  # as in the stylesheet
_FRAME = 4
"""Cells of its border and its padding."""

_KEYS_OF = {"levers": "lever.", "log": "log."}
"""Where a place has keys of its own: how their names begin."""
_ALSO = {
    "ttft": ("baseline", "copy", "maximise"), "kv": ("copy", "maximise"), "prefix": ("copy", "maximise"),
    "acceptance": ("copy", "maximise"), "levers": ("apply", "undo", "drop", "copy"),
    "runs": ("baseline", "copy", "export"), "requests": ("replay", "cancel", "maximise"),
    "startup": ("log", "end-engine", "copy-command"), "failure": ("restart", "undo", "log", "copy-command"),
}  # fmt: skip

_made: dict[tuple[object, ...], list[Content]] = {}
"""Lines of a place's help, by all that they depend on."""


def here(screen: Screen[object]) -> str:
    """The place that the person is in: an area, the log, a start or a failure."""
    return str(getattr(screen, "place", ""))


class HelpScreen(Once, ModalScreen[None]):
    """Closed by the keys that opened it, too."""

    BINDINGS = [
        Binding("escape,question_mark,q", "dismiss", "back", id="help.back", tooltip="back to where you were")
    ]

    def __init__(self, bindings: Iterable[Binding], place: str = "") -> None:
        super().__init__()
        self._offered = [binding for binding in bindings if binding.tooltip]
        self._place = place

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help-box") as box:
            name, _ = {**TELLS, **_ELSEWHERE}.get(self._place, ("", ""))
            box.border_title = f"Help · {name}" if name else "Help"
            box.border_subtitle = "escape closes"
            text = HelpText(self._offered, self._place)
            # Known beforehand, so that it is laid out once and not again for its scroll bar.
            width = min(_WIDEST, self.app.size.width) - _FRAME
            if len(text.lines(width - 1)) > self.app.size.height - 2:
                box.styles.overflow_y, box.show_vertical_scrollbar = "scroll", True
            yield text

    def on_mount(self) -> None:
        for box in self.query("#help-box"):  # none where a key came that left it before it was there
            box.focus()


class HelpText(Lines):
    """Two columns, the second wrapped beside the first."""

    def __init__(self, bindings: list[Binding], place: str) -> None:
        super().__init__()
        self._offered, self._place = bindings, place

    def lines(self, width: int) -> list[Content]:
        """Asked for several times while the window finds its size, and the same each time that it opens."""
        of = (self._place, width, tuple(one.id for one in self._offered), tuple(_keymap(self.app).items()))
        if of not in _made:
            _made[of] = self._all(width)
        return _made[of]

    def _all(self, width: int) -> list[Content]:
        rows = self._here(width)
        rows.append(words(("All keys" if rows else "Keys", "bold")))
        areas = [one for one in self._offered if (one.id or "").startswith("area.")]
        for binding in self._offered:
            if binding not in areas:
                rows += self._key(binding, width)
        if areas:
            rows += _row(words((" ".join(self._keys(one) for one in areas), "bold $primary")), "go to an area", width)
        rows += [Content(""), words(("What each area tells", "bold"))]
        numbered = {one.id: self._keys(one) for one in areas}
        for area, (name, tells) in TELLS.items():
            shown = numbered.get(f"area.{area}", "").partition(" ")[0]
            rows += _row(words((f"{shown} ", "$primary") if shown else "", (name, "bold")), tells, width)
        rows += [Content(""), words(("Glyphs", "bold"))]
        for reuse, meaning in _CLASSES.items():
            rows += _row(words((f"{GLYPHS[reuse]} {reuse}", f"${reuse}")), meaning, width)
        for glyphs, meaning in _MARKS:
            rows += _row(words((glyphs, "bold")), meaning, width)
        rows += [Content(""), words(("Mouse", "bold"))]
        for name, meaning in _MOUSE:
            rows += _row(words((name, "bold")), meaning, width)
        return [*rows, Content(""), *Content(_COPYING).stylize("$dim").wrap(width)]

    def _here(self, width: int) -> list[Content]:
        """What the place tells, and the keys that act on it."""
        _, tells = {**TELLS, **_ELSEWHERE}.get(self._place, ("", ""))
        if not tells:
            return []
        own = _KEYS_OF.get(self._place)
        acting = [one for one in self._offered if one.id and own and one.id.startswith(own)]
        also = _ALSO.get(self._place, ())
        acting += [one for one in self._offered if one.id in also]
        rows = [*Content(tells).wrap(width), Content("")]
        for binding in acting:
            rows += self._key(binding, width)
        return [*rows, Content("")] if acting else rows

    def _key(self, binding: Binding, width: int) -> list[Content]:
        return _row(words((self._keys(binding), "bold $primary")), binding.tooltip, width)

    def _keys(self, binding: Binding) -> str:
        keys = _keymap(self.app).get(binding.id or "", binding.key)
        return " ".join(self.app.get_key_display(Binding(key, "", "")) for key in keys.split(","))


def _keymap(app: object) -> Mapping[str, str]:
    """What the person's keys.yaml says, as Textual keeps it."""
    return getattr(app, "_keymap", {})


def _row(name: Content, text: str, width: int) -> list[Content]:
    """`name` in the first column; the words after it hang beside."""
    wrapped = list(Content(text).stylize("$dim").wrap(max(12, width - _FIRST)))
    first = words("  ", name, " " * max(1, _FIRST - 2 - name.cell_length), wrapped[0])
    return [first, *(words(" " * _FIRST, line) for line in wrapped[1:])]
