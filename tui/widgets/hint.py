"""A line for the first start: the three keys that matter. It goes away by itself and stays away."""

from contextlib import suppress
from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from tui import paths
from tui.session.snapshot import Snapshot
from tui.widgets.key_names import key

_SEEN = "hint-seen"


class Hint(Widget):
    """Shown until a run has ended, or it is dismissed; then a file in the state folder says that it was seen."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._path: Path | None = None
        self.display = False

    def begin(self) -> None:
        """Show it, unless it was seen."""
        path = paths.state() / _SEEN
        if not path.exists():
            self._path = path
            self.display = True

    def show(self, snapshot: Snapshot) -> None:
        if self.display and snapshot.runs:
            self.dismiss()

    def dismiss(self) -> bool:
        """Hide it for good; False when it was not there."""
        if not self.display:
            return False
        self.display = False
        if self._path is not None:
            with suppress(OSError):  # a state folder that can't be written shows it again, that is all
                paths.private_dir(self._path.parent)
                self._path.touch(mode=0o600)
        return True

    def on_click(self) -> None:
        self.dismiss()

    def render(self) -> Content:
        """What fits of: replay, change a lever, apply, replay again."""
        steps = (
            ("first time? ", "bold $primary"),
            (key("replay"), "bold $footer-key-foreground"),
            (" replays the recording", ""),
            (" · ", "$faint"),
            (key("lever.toggle"), "bold $footer-key-foreground"),
            (" toggles a lever", ""),
            (" · ", "$faint"),
            (key("apply"), "bold $footer-key-foreground"),
            (" restarts with it", ""),
            (" · ", "$faint"),
            (key("help"), "bold $footer-key-foreground"),
            (" help", ""),
            (" · ", "$faint"),
            (key("back"), "bold $footer-key-foreground"),
            (" hides this", ""),
        )
        return Content.assemble(*steps).truncate(self.content_size.width, ellipsis=True)
