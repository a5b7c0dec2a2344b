"""Short requests that were sent while somebody else's long prefill was under way, and those that were not."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tui.traffic.outcome import Outcome

LEAST_LONG = 512  # tokens to compute; under it no prefill is long
SHORT = 8  # times fewer tokens than the longest
LONG = 2


Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Prefill:
    tokens: int  # to compute: not cached
    sent_s: float
    first_s: float
    ttft_s: float


def queueing(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """Counts and median TTFT (seconds) of both; None where no prompt is long, or none is short.

    Short is an eighth of the longest or less, long is half of it or more, by the tokens that had to be computed.
    """
    prefills = [
        _Prefill(o.prompt_tokens - (o.cached_tokens or 0), o.sent_s, o.due_s + o.ttft_s, o.ttft_s)
        for o in outcomes
        if o.status == "ok" and o.prompt_tokens is not None and o.sent_s is not None and o.ttft_s is not None
    ]
    longest = max((p.tokens for p in prefills), default=0)
    short = [p for p in prefills if p.tokens * SHORT <= longest]
    if longest < LEAST_LONG or not short:
        return None
    spans = _together([(p.sent_s, p.first_s) for p in prefills if p.tokens * LONG >= longest])
    behind, alone = [], []
    for p in short:
        (behind if _within(p.sent_s, spans) else alone).append(p)
    return {
        "short": len(short),
        "behind": len(behind),
        "behind_ttft_s": median(p.ttft_s for p in behind) if behind else None,
        "alone_ttft_s": median(p.ttft_s for p in alone) if alone else None,
        "longest_tokens": longest,
    }


def _together(spans: list[Span]) -> list[Span]:
    """Overlapping spans made one, in their order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _within(moment: float, spans: list[Span]) -> bool:
    at = bisect_right(spans, (moment, float("inf"))) - 1
    return at >= 0 and moment < spans[at][1]
