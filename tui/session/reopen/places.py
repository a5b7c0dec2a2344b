"""Words for a place in a session: a time from its start, a time of day, a run, a share."""

import re
from datetime import datetime, tzinfo

from tui.errors import VtuneError
from tui.session.reopen.landmarks import Landmark

HINT = "1:30 from the start · @14:05 by the clock · run 2 · 50%"

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)")
_DAY = re.compile(r"@(\d{1,2}):(\d{2})(?::(\d{2}))?")
_RUN = re.compile(r"(?:run|r)\s*(\d+)", re.IGNORECASE)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*s?")


def find(words: str, start: float, end: float, landmarks: list[Landmark], zone: tzinfo) -> Landmark | float:
    """A moment (epoch seconds) within the session, or the landmark where a run begins. Raises VtuneError for others.

    `zone` is that of times of day.
    """
    text = words.strip()
    if match := _RUN.fullmatch(text):
        return _run(int(match[1]), landmarks)
    if match := _SHARE.fullmatch(text):
        return start + min(1.0, float(match[1]) / 100) * (end - start)
    if match := _DAY.fullmatch(text):
        return _of_day(match, start, end, zone)
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = int(match[1] or 0), int(match[2]), float(match[3])
        return min(end, start + 3600 * hours + 60 * minutes + seconds)
    if match := _SECONDS.fullmatch(text):
        return min(end, start + float(match[1]))
    raise VtuneError(f"{words!r} is no place in the session", HINT)


def _run(number: int, landmarks: list[Landmark]) -> Landmark:
    found = next((one for one in landmarks if one.kind == "run" and one.words.startswith(f"run {number} ")), None)
    if found is None:
        raise VtuneError(f"no run {number} began in this session", HINT)
    return found


def _of_day(match: re.Match[str], start: float, end: float, zone: tzinfo) -> float:
    """The first such time of day that is within the session; a session may go over midnight."""
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise VtuneError(f"{match[0]} is no time of day", HINT)
    first = datetime.fromtimestamp(start, zone)
    moment = first.replace(hour=hour, minute=minute, second=second, microsecond=0).timestamp()
    while moment < start - 60:
        moment += 86_400
    if moment > end + 60:
        raise VtuneError(f"the session was over before {match[0][1:]}", HINT)
    return min(end, max(start, moment))
