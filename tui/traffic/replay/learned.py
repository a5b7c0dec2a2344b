"""What a run has learned of its server's events."""

from dataclasses import dataclass, field

from tui.traffic.replay.like import Shapes
from tui.traffic.replay.scan import ContentScan


@dataclass(slots=True)
class Learned:
    """One serves all answers of a run: what answers have in common is learned from the first."""

    scan: ContentScan = field(default_factory=ContentScan)
    shapes: Shapes = field(default_factory=Shapes)
