"""Did the answers change? An arm's against the baseline's: equal, tied, or text that the model would not write."""

from tui.session.check.build import output_check

__all__ = ["output_check"]
