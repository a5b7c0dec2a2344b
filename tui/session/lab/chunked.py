"""Chunked prefill: short requests that arrive while long prompts are computed, eight at a time."""

from collections.abc import Sequence

from tui.session.lab.prompts import prose
from tui.session.lab.study import Load, Study, chat, count
from tui.traffic.recording import Request

CONCURRENCY = 8
SHORT, LONG = "short", "long"
SHORT_TOKENS, LONG_TOKENS = 112, 3000

_LONGS = 8  # at scale 1
_SHORTS_A_LONG = 7
_ANSWER_TOKENS = 24


def requests(scale: float) -> list[Request]:
    """One long request among seven short ones, the third of each eight, so that shorts run before and behind it.

    At least 21 short ones: a p95 needs 20. No two prompts have a beginning in common.
    """
    return [
        _request(f"{kind}-{part + 1}-{place}", kind)
        for part in range(count(_LONGS, scale, 3))
        for place, kind in enumerate([SHORT] * 2 + [LONG] + [SHORT] * (_SHORTS_A_LONG - 2), 1)
    ]


def _request(id: str, kind: str) -> Request:
    text = prose(id, LONG_TOKENS if kind == LONG else SHORT_TOKENS)
    return chat(id, 0.0, f"{text}\nSay in one sentence what this is about.", _ANSWER_TOKENS, kind)


def load(value: str, sent: Sequence[Request]) -> Load:
    """Small budgets without a threshold take twice the time on a CPU; a step decodes for all that run."""
    longs = sum(request.group == LONG for request in sent)
    tokens = longs * LONG_TOKENS + (len(sent) - longs) * (SHORT_TOKENS + 40)
    return Load(tokens, 2 * _ANSWER_TOKENS * len(sent) / CONCURRENCY)


STUDY = Study(
    name="chunked",
    lever="chunked-prefill",
    # Token budget / long-prefill threshold: what a step may hold, and how much of it one long prompt may take.
    arms=("off", "8192", "2048", "512", "8192/2048", "2048/512", "512/256"),
    few=("off", "2048", "512", "2048/512"),
    cut=0.375,
    pace=f"closed:{CONCURRENCY}",
    fix_lengths=True,  # throughput and completion of arms that answer at different length can't be compared
    notes=f"Short requests (about {SHORT_TOKENS} tokens) with long ones ({LONG_TOKENS} tokens) among them, "
          f"{CONCURRENCY} at a time.",
    longest=LONG_TOKENS + 200,
    requests=requests,
    load=load,
)  # fmt: skip
