"""Which requests --limit and --sample choose, whole sessions at a time."""

import random
from collections.abc import Iterable

from tui.traffic.importers.kept import Kept


def first(kept: Kept, order: list[int], limit: int) -> set[int]:
    """The sessions that begin first, until `limit` requests are reached."""
    return _until(limit, _sessions(kept, order))


def sample(kept: Kept, order: list[int], count: int, seed: int) -> set[int]:
    """Sessions drawn at random, until `count` requests are reached."""
    sessions = _sessions(kept, order)
    random.Random(seed).shuffle(sessions)
    return _until(count, sessions)


def _sessions(kept: Kept, order: list[int]) -> list[list[int]]:
    """Requests by session, which a link also makes; a request without one is a session of its own."""
    found: dict[str | int, list[int]] = {}
    root: dict[int, str | int] = {}
    for number in order:
        parent = kept.numbers.get(kept.parents.get(number, "\0"))
        key = kept.sessions.get(number) or (root.get(parent, number) if parent is not None else number)
        root[number] = key
        found.setdefault(key, []).append(number)
    return list(found.values())


def _until(count: int, sessions: Iterable[list[int]]) -> set[int]:
    chosen: set[int] = set()
    for session in sessions:
        if len(chosen) + len(session) <= count:
            chosen.update(session)
        elif not chosen:
            return set(session[:count])  # one session alone is longer: its beginning is better than nothing
    return chosen
