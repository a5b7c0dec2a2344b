"""A screen that is left once, however fast the keys come that leave it."""

from typing import Any

from textual.await_complete import AwaitComplete

from tui.screens.backdrop import Backed


class Once(Backed):
    """To be mixed into a Screen; no Screen itself, for Textual inherits styles along the first one only.

    The second of two keys may come before the screen is gone: Textual would then take away another one, or fail.
    """

    def dismiss(self, result: Any = None) -> AwaitComplete:
        if self.app.screen is not self:  # type: ignore[attr-defined]
            return AwaitComplete.nothing()
        return super().dismiss(result)  # type: ignore[misc]
