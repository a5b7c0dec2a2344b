"""What a run sends and how."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from tui.engine.settings import Profile
from tui.errors import VtuneError
from tui.traffic import recording as recordings
from tui.traffic.recording import Recording
from tui.traffic.schedule import parse_pace


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a run sends and how; `cache` reset makes a cold start, keep leaves what the engine holds."""

    recording: Recording
    pace: str = "recorded"
    speed: float = 1.0
    limit: int | None = None
    seed: int = 0
    cache: Literal["reset", "keep"] = "reset"
    live_turns: bool = False
    loop: int = 1  # how often the whole recording is sent
    retry: int = 0  # how often a request is sent again that a busy server refused
    fix_lengths: bool = False
    fail_fast: bool = False
    keep_text: bool = True
    api_key_env: str | None = None
    label: str | None = None

    def options(self) -> dict[str, Any]:
        """What, beside the pace, makes two runs comparable."""
        return {
            "speed": self.speed, "limit": self.limit, "seed": self.seed, "cache": self.cache,
            "live_turns": self.live_turns, "fix_lengths": self.fix_lengths, "keep_text": self.keep_text,
            "loop": self.loop, "retry": self.retry,
        }  # fmt: skip


def traffic_of(profile: Profile, recording_ref: str | None = None, **changes: Any) -> Traffic:
    """The profile's traffic, with `changes` (fields of Traffic; None leaves the profile's).

    Raises VtuneError without a recording, or for one that is not sound.
    """
    ref = recording_ref or profile.traffic.recording
    if ref is None:
        raise VtuneError("no recording to replay", "name one, or put it under traffic: recording: in the profile")
    recording = recordings.load(ref, filed=True, generating=True)
    base = Traffic(recording, pace=profile.traffic.pace, speed=profile.traffic.speed)
    traffic = replace(base, **{k: v for k, v in changes.items() if v is not None})
    if traffic.loop < 1 or traffic.retry < 0:
        raise VtuneError(f"loop {traffic.loop}, retry {traffic.retry}", "a recording is sent once or more often; "
                         "what a busy engine refuses is sent again 0 times or more often")  # fmt: skip
    parse_pace(traffic.pace, traffic.speed, traffic.seed)  # refused here, before anything starts
    return traffic
