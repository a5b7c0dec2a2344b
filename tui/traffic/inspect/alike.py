"""Which earlier requests a request looks like: they share its text, wherever it stands."""

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tui.traffic.inspect.difference import shared_length
from tui.traffic.inspect.parts import parts
from tui.traffic.recording import Request

REMEMBERED = 48  # earlier requests with a piece of text
NEAREST = 4
_SHORTEST = 12  # characters of a piece
_ENDS = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=[\]}]),\s*")


def pairs(requests: Sequence[Request], worth: int) -> Iterator[tuple[Request, Request]]:
    """(earlier, later) where the later has `worth` characters or more in common with the earlier one that lie
    behind a difference; also every turn with the turn before it that it does not continue."""
    seen: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
    place = {request.id: number for number, request in enumerate(requests)}
    for number, request in enumerate(requests):
        pieces = Counter(_pieces(request))
        scores: dict[int, int] = defaultdict(int)
        for piece, times in pieces.items():
            for earlier in seen[piece]:
                scores[earlier] += len(piece) * times
            seen[piece].append(number)
        if request.after in place and place[request.after] < number:
            yield requests[place[request.after]], request
        yield from _worth_asking(requests, request, scores, worth)


def _worth_asking(
    requests: Sequence[Request], request: Request, scores: dict[int, int], worth: int
) -> Iterator[tuple[Request, Request]]:
    best = max(scores.values(), default=0)
    near = sorted(scores, key=lambda n: (-scores[n], -n))[:NEAREST]
    close = [(shared_length(requests[n], request), n) for n in near if scores[n] >= 0.6 * best]
    have = max((length for length, _ in close), default=0)
    if best - have >= worth:
        for _, number in sorted(close, reverse=True):
            yield requests[number], request


def _pieces(request: Request) -> Iterator[str]:
    for part in parts(request.body):
        text = part.text
        if part.kind == "tools":
            text = json.dumps(request.body["tools"], sort_keys=True, ensure_ascii=False)
        yield from _of_text(text)


@lru_cache(maxsize=1024)
def _of_text(text: str) -> tuple[str, ...]:
    plain = (" ".join(piece.split()) for piece in _ENDS.split(text))
    return tuple(piece for piece in plain if len(piece) >= _SHORTEST)
