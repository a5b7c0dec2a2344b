"""Reuse over the turns of conversations: what a turn found because the turn before it had been there."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tui.session.reuse.served import Served
from tui.traffic.inspect import turns
from tui.traffic.recording import Request


@dataclass(slots=True)
class Turn:
    """Sums over the n-th turns of all conversations, in tokens."""

    number: int
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    from_turn_before: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "turn": self.number, "requests": self.requests, "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens, "from_turn_before": self.from_turn_before,
        }  # fmt: skip


def over_turns(served: Iterable[Served], requests: Sequence[Request], block_size: int) -> list[dict[str, Any]]:
    """A row per turn from the second on; none where nothing is a later turn.

    A found block counts for the turn before where that turn had it too and no other conversation had it first: a
    system prompt that all share is no merit of the turn.
    """
    before = {request.id: earlier.id for request, earlier in turns.linked(requests) if earlier is not None}
    first: dict[Hashable, str] = {}  # block -> the conversation that computed it first
    had: dict[str, frozenset[Hashable]] = {}
    found: dict[int, Turn] = {}
    for one in served:
        root, depth = _place(one.id, before)
        earlier = before.get(one.id)
        if earlier is not None:
            turn = found.setdefault(depth, Turn(depth))
            hit = one.row.kept[: one.hits]
            own = had.get(earlier, frozenset())
            turn.requests += 1
            turn.prompt_tokens += one.row.tokens
            turn.cached_tokens += one.hits * block_size
            turn.from_turn_before += sum(d in own and first.get(d) == root for d in hit) * block_size
        had[one.id] = frozenset(one.row.kept)
        for digest in one.row.kept:
            first.setdefault(digest, root)
    return [found[number].to_json() for number in sorted(found)]


def _place(request: str, before: dict[str, str]) -> tuple[str, int]:
    """The first turn of its conversation, and which turn it is itself."""
    depth, seen = 1, {request}
    while (earlier := before.get(request)) is not None and earlier not in seen:
        seen.add(earlier)
        request, depth = earlier, depth + 1
    return request, depth
