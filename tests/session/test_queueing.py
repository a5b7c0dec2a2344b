"""Short requests behind long prefills, told apart from those that met none."""

import random

from tui.session.result.queueing import queueing
from tui.traffic.outcome import Outcome


def sent(name: str, tokens: int, at: float, ttft: float, cached: int = 0) -> Outcome:
    return Outcome(name, None, "ok", at, at, ttft_s=ttft, prompt_tokens=tokens, cached_tokens=cached)


def test_a_short_request_is_behind_while_the_long_prefill_is_under_way():
    rows = [sent("long", 4000, 10.0, 5.0), sent("before", 100, 9.9, 0.2), sent("with", 100, 10.0, 4.0),
            sent("late", 100, 14.9, 0.9), sent("after", 100, 15.0, 0.3)]  # fmt: skip
    assert queueing(rows) == {
        "short": 4, "behind": 2, "behind_ttft_s": (4.0 + 0.9) / 2, "alone_ttft_s": (0.2 + 0.3) / 2,
        "longest_tokens": 4000,
    }  # fmt: skip


def test_what_was_cached_is_no_long_prefill():
    rows = [sent("warm", 4000, 10.0, 0.3, cached=3900), sent("short", 100, 10.1, 0.2)]
    assert queueing(rows) is None  # nobody had more than 100 tokens to compute


def test_without_short_or_long_requests_nothing_is_said():
    assert queueing([]) is None
    assert queueing([sent(str(n), 1000, float(n), 1.0) for n in range(5)]) is None
    only = queueing([sent("long", 4000, 0.0, 5.0), sent("short", 100, 1.0, 4.0)])
    assert (only["behind"], only["alone_ttft_s"]) == (1, None)


def test_it_agrees_with_looking_at_every_pair():
    chance = random.Random(5)
    rows = [sent(str(n), chance.choice((50, 3000, 4000)), chance.uniform(0, 100), chance.uniform(0.1, 6.0))
            for n in range(300)]  # fmt: skip
    long = [o for o in rows if o.prompt_tokens > 2000]
    behind = [o for o in rows if o.prompt_tokens == 50
              and any(p.sent_s <= o.sent_s < p.sent_s + p.ttft_s for p in long)]  # fmt: skip
    assert queueing(rows)["behind"] == len(behind) > 50
