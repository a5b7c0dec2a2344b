"""Arms against a baseline: which replays belong together, what differs, whether chance explains it, and why."""

from tui.session.compare.build import SCHEMA, comparison
from tui.session.compare.plan import Arm, Plan

__all__ = ["SCHEMA", "Arm", "Plan", "comparison"]
