"""What a reader of a result has to know before believing it: one sentence each, in words of the data."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tui.session.result import machine
from tui.session.result.counters import Seen
from tui.session.state import RunRecord
from tui.session.stats import FEWEST_P95
from tui.traffic.outcome import Outcome

LATE_S = 0.05  # a request written later than this after its due time distorts its TTFT
SLOW_FIRST = 2.0
HIT_RATES_AGREE = 0.01
BUSY_REPLAYER = 0.5
COALESCED = 0.05
THRASHING = 0.01  # of the prompt tokens

_RESETS = {
    "kept": "the prefix cache was kept from before the run: what is warm depends on what ran earlier",
    "unavailable": "the prefix cache could not be reset: what is warm depends on what ran earlier",
    None: "whether the prefix cache was empty at the start is unknown",
}


def caveats(
    result: Mapping[str, Any], outcomes: Sequence[Outcome], seen: Seen, run: RunRecord, end_kind: str | None
) -> list[str]:
    """Sentences in a fixed order; none when nothing has to be said. `end_kind`: how the replay says it ended."""
    found = [
        *(f"asked and applied differ: {words}" for words in result["engine"]["mismatches"]),
        _cache(result),
        _start(run.start_state),
        _cut_short(len(outcomes), run.total, end_kind),
        _failures(result),
        _few(result),
        _first_request(outcomes),
        _overlap(result),
        _loop(run),
        *_counters(result, seen),
        *_client(result, outcomes),
        *machine.caveats(run.load, run.conditions),
    ]
    return [words for words in found if words]


def _cache(result: Mapping[str, Any]) -> str | None:
    if result["prefix_cache"]["state"] == "off" or not result["requests"]["sent"]:
        return None
    return _RESETS.get(result["cache_reset"])


def _start(words: str | None) -> str | None:
    unsteady = words is not None and ("not settled" in words or "failed" in words)
    return f"the engine was not steady before the run: {words}" if unsteady else None


def _cut_short(ended: int, total: int, kind: str | None) -> str | None:
    if kind == "done":
        return None
    how = "is not over, or was broken off" if kind is None else f"ended early ({kind})"
    return f"the replay {how}: {ended} of {total} requests have an end"


def _failures(result: Mapping[str, Any]) -> str | None:
    requests = result["requests"]
    if requests["failed"]:
        total = requests["ok"] + requests["failed"]
        return f"{requests['failed']} of {total} requests failed; times are of those that succeeded"
    return None


def _few(result: Mapping[str, Any]) -> str | None:
    n = result["requests"]["ok"]
    return f"{n} requests succeeded: no p90 and p95 under {FEWEST_P95} samples" if 0 < n < FEWEST_P95 else None


def _first_request(outcomes: Sequence[Outcome]) -> str | None:
    timed = [o for o in outcomes if o.status == "ok" and o.ttft_s is not None]
    if not timed:
        return None
    first, rest = timed[0], [o.ttft_s for o in timed[1:] if o.reuse == timed[0].reuse and o.ttft_s is not None]
    if len(rest) < 3 or not first.ttft_s or first.ttft_s <= SLOW_FIRST * median(rest):
        return None
    kind = f"{first.reuse} ones" if first.reuse != "unknown" else "ones"
    return f"the first request had a TTFT of {first.ttft_s:.2f} s, the other {kind} a median of {median(rest):.2f} s"


def _overlap(result: Mapping[str, Any]) -> str | None:
    peak = result["in_flight"]["peak"]
    if peak is None or peak < 2:
        return None
    return f"up to {peak} requests ran at a time: a TTFT holds the waiting for the others as well"


def _loop(run: RunRecord) -> str | None:
    loop = run.meta.get("options", {}).get("loop", 1)
    words = f"the recording was sent {loop} times: from the second on it finds the prefixes of the first"
    return words if loop > 1 else None


def _counters(result: Mapping[str, Any], seen: Seen) -> list[str | None]:
    prefix = result["prefix_cache"]
    engine, client = prefix["hit_rate"], prefix["client_hit_rate"]
    differ = engine is not None and client is not None and abs(engine - client) > HIT_RATES_AGREE
    preempted = result["kv_cache"]["preemptions"]
    unknown, ok = result["ttft_s"]["unknown"]["n"], result["requests"]["ok"]
    return [
        "fewer than two scrapes of the engine's metrics: its counters are unknown" if len(seen.scrapes) < 2 else None,
        f"the engine restarted {seen.window.restarts}x during the run" if seen.window.restarts else None,
        f"hit rate by the engine's counters is {engine:.1%}, by its answers {client:.1%}" if differ else None,
        _thrashing(prefix),
        f"{preempted} preemptions: the KV cache was full, and their prefill was done again" if preempted else None,
        f"{unknown} of {ok} answers did not say how much of the prompt was cached" if unknown else None,
    ]


def _thrashing(prefix: Mapping[str, Any]) -> str | None:
    """Prefixes that a pool of twice the size would have kept."""
    lost = prefix["lost"]
    if not lost or not lost["prompt_tokens"] or lost["evicted_soon_tokens"] < THRASHING * lost["prompt_tokens"]:
        return None
    worst = lost["prefixes"][0]
    name = f" (most for {worst['quote']!r})" if worst["quote"] else ""
    share = lost["evicted_soon_tokens"] / lost["prompt_tokens"]
    return f"thrashing: {share:.1%} of the prompt tokens were asked for soon after they were evicted{name}"


def _client(result: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[str | None]:
    fidelity = result["fidelity"]
    late = sum(o.sent_s - o.due_s > LATE_S for o in outcomes if o.sent_s is not None)
    chunks, shared = sum(o.chunks for o in outcomes), fidelity["coalesced_events"] or 0
    share = fidelity["replayer_cpu_share"]
    return [
        f"{late} requests were written over {LATE_S * 1000:.0f} ms after they were due "
        f"(at most {fidelity['send_lag_s']['max']:.2f} s); their TTFT holds it"
        if late
        else None,
        f"{shared} of {chunks} content events came several in a read, or were read late: their times are upper bounds"
        if chunks and shared > COALESCED * chunks
        else None,
        f"the wall clock was set {fidelity['clock_steps']} x during the run: times just before that are off"
        if fidelity.get("clock_steps")
        else None,
        f"{fidelity['scan_mismatches']} content events looked otherwise than the first ones: figures shown during the "
        "run were off, the result is not"
        if fidelity.get("scan_mismatches")
        else None,
        f"{fidelity['busy_retries']} times a busy engine was asked again: TTFT holds the waiting"
        if fidelity.get("busy_retries")
        else None,
        f"the replay was paused for {fidelity['paused_s']:.1f} s: throughput and requests in flight count that time"
        if fidelity.get("paused_s")
        else None,
        f"the replayer used {share:.0%} of a core: the client may be the bottleneck"
        if share is not None and share > BUSY_REPLAYER
        else None,
    ]
