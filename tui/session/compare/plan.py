"""What a comparison is going to do: its arms, their order, and how long that may take."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from tui.engine import levers, startup
from tui.engine.lever import Surroundings
from tui.engine.profile_set import with_settings
from tui.engine.settings import Profile
from tui.errors import VtuneError
from tui.session import secrets
from tui.session.check.temperature import greedy_ids
from tui.session.traffic import Traffic
from tui.traffic.schedule import parse_pace

Vary = tuple[str, tuple[str, ...]]
Start = Literal["plain", "warm"]

_OPENING, _CLOSING = "[{(", "]})"


@dataclass(frozen=True, slots=True)
class Arm:
    """One setting of the varied levers; `settings` are its words of --set on top of the profile."""

    name: str
    settings: tuple[str, ...]
    profile: Profile


@dataclass(frozen=True, slots=True)
class Plan:
    """The first arm is the baseline. Every replay has an engine of its own, started anew, all of them alike.

    A parked engine may be at hand for one arm and not for another, and an engine kept over two replays would
    make A against A look steadier than A against B. `start` is plain, or warm: forked from one that has imported.
    """

    vary: tuple[str, ...]
    arms: tuple[Arm, ...]
    rounds: int
    seed: int
    check: bool = True  # whether the answers are compared, and engines asked about them
    start: Start = "plain"

    @classmethod
    def of(
        cls, profile: Profile, vary: Sequence[str], rounds: int, seed: int, check: bool = True, start: Start = "plain"
    ) -> "Plan":
        """Raises VtuneError for words that are no lever's, fewer than two arms, or no round."""
        if rounds < 1:
            raise VtuneError(f"--rounds {rounds}: not a number of rounds", "give 1 or more")
        if seed < 0:
            raise VtuneError(f"--seed {seed}: not a seed", "give 0 or more")
        varied = [parse_vary(words) for words in vary]
        if len({lever for lever, _ in varied}) < len(varied):
            raise VtuneError("a lever is varied twice", "give all its values to one --vary LEVER=A,B,C")
        choices = [[f"{lever}={value}" for value in values] for lever, values in varied]
        settings = list(product(*choices)) if choices else []
        if len(settings) < 2:
            raise VtuneError("nothing to compare: fewer than two arms", "vary a lever: --vary prefix-caching=on,off")
        names = _names([" ".join(secrets.settings(words)) for words in settings])
        profiles = [_profile(profile, words, start) for words in settings]
        arms = tuple(Arm(*parts) for parts in zip(names, settings, profiles, strict=True))
        return cls(tuple(vary), arms, rounds, seed, check, start)

    def replays(self) -> Iterator[tuple[int, Arm]]:
        """(round from 1, arm) in the order in which they run: A B C C B A, once a round.

        What drifts evenly over a round (a machine that warms up) adds the same to every arm.
        """
        for number in range(1, self.rounds + 1):
            yield from ((number, arm) for arm in (*self.arms, *reversed(self.arms)))

    def event(self, traffic: Traffic) -> dict[str, Any]:
        """What the journal keeps: enough to compare again from the session folder alone."""
        return {
            "vary": secrets.settings(self.vary),
            "arms": [{"name": arm.name, "settings": secrets.settings(arm.settings)} for arm in self.arms],
            "baseline": self.arms[0].name,
            "rounds": self.rounds,
            "order": [arm.name for _, arm in self.replays()],
            "seed": self.seed,
            "start": self.start,
            "fix_lengths": traffic.fix_lengths,
            "check": self.check,
            "greedy": greedy_ids(traffic.recording.requests[: traffic.limit]),
        }


def parse_vary(words: str) -> Vary:
    """``LEVER=A,B,C``; a comma within brackets or quotes, or after a backslash, belongs to its value."""
    lever, equals, values = words.partition("=")
    found = tuple(value.strip() for value in _split(values))
    if not lever.strip() or not equals or not all(found):
        raise VtuneError(f"--vary {words!r}: no LEVER=A,B", "write --vary chunked-prefill=off,2048,512/256")
    return lever.strip(), found


def _split(text: str) -> list[str]:
    parts, depth, quote, escaped = [""], 0, "", False
    for char in text:
        if char == "," and not (depth or quote or escaped):
            parts.append("")
            continue
        if escaped:
            parts[-1] += char if char == "," else "\\" + char
            escaped = False
            continue
        escaped = char == "\\"
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char in _OPENING) - (char in _CLOSING and depth > 0)
        parts[-1] += "" if escaped else char
    return parts


def _names(wanted: Sequence[str]) -> list[str]:
    """An arm that is there twice (A against A, on purpose) gets a number."""
    names: list[str] = []
    for name in wanted:
        same = sum(re.fullmatch(rf"{re.escape(name)}( \(\d+\))?", known) is not None for known in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return names


def _profile(profile: Profile, settings: Sequence[str], start: Start) -> Profile:
    try:
        found = with_settings(profile, settings)
        levers.resolve(found.levers, Surroundings())
    except VtuneError as error:
        raise VtuneError(error.what.replace("--set", "--vary", 1), error.mend, error.code) from error
    return replace(found, engine=replace(found.engine, warm=start == "warm", park=0, head_start=False))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one start and of one replay; None where nothing tells."""

    replays: int
    start_s: float | None
    replay_s: float | None

    @property
    def total_s(self) -> float | None:
        if self.start_s is None or self.replay_s is None:
            return None
        return self.replays * (self.start_s + self.replay_s)


def estimate(plan: Plan, traffic: Traffic) -> Estimate:
    """From earlier starts of the profile here, and from the pace and what the recording says of its answers."""
    phases = startup.estimate(plan.arms[0].profile.name, plan.start)
    start = sum(phases.values()) if phases else None
    return Estimate(sum(1 for _ in plan.replays()), start, _replay_s(traffic))


def _replay_s(traffic: Traffic) -> float | None:
    requests = traffic.recording.requests[: traffic.limit]
    pace = parse_pace(traffic.pace, traffic.speed, traffic.seed)
    took = [(request.reply or {}).get("e2e_s") for request in requests]
    known = [seconds for seconds in took if isinstance(seconds, (int, float))]
    if pace.mode == "closed":
        return sum(known) / (pace.concurrency or 1) if known and len(known) == len(took) else None
    last = max((due for due, _ in pace.due_times(requests)), default=0.0)
    return last + (sum(known) / len(known) if known else 0.0)
