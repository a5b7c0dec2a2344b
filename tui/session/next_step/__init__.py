"""The one lever that is worth trying next, by the evidence of a run."""

from tui.session.next_step.advise import advise, of_session
from tui.session.next_step.step import Step

__all__ = ["Step", "advise", "of_session"]
