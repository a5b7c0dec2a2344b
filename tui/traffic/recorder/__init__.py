"""Records real traffic: a transparent proxy in front of an OpenAI-compatible server."""

from tui.traffic.recorder.recorder import Recorded, Recorder
from tui.traffic.recorder.spec import RecordSpec

__all__ = ["RecordSpec", "Recorded", "Recorder"]
