"""A kept session, shown again: read from its journal through the same fold, at any moment of it, and never written."""

from tui.session.reopen.player import Player

__all__ = ["Player"]
