"""The three experiments that the literature asks for, each a comparison of its own with what it is to show."""

from tui.session.lab.build import with_lab

__all__ = ["with_lab"]
