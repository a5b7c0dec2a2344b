"""Replaying a recording in a process of its own, so that measuring never shares an event loop with drawing."""

from tui.traffic.replay.replay import EndKind, Replay, ReplayEnd
from tui.traffic.replay.runfile import read_outcomes
from tui.traffic.replay.spec import ReplaySpec

__all__ = ["EndKind", "Replay", "ReplayEnd", "ReplaySpec", "read_outcomes"]
