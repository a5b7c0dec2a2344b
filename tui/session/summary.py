"""A run in a few lines of plain text, for the terminal. Unknown is a word, never zero."""

from typing import Any

UNKNOWN = "unknown"


def seconds(value: float | None) -> str:
    """``12 ms``, ``0.84 s``, ``12.9 s`` or ``unknown``."""
    if value is None:
        return UNKNOWN
    if value < 0.1:
        return f"{value * 1000:.1f} ms" if value < 0.01 else f"{value * 1000:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def share(value: float | None) -> str:
    """``71 %`` or ``unknown``."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %" if value < 0.995 else f"{100 * value:.0f} %"


def lines(result: dict[str, Any]) -> list[str]:
    """What a vtune.run/1 object says."""
    requests = result["requests"]
    rows = [
        f"{result['label']}: {requests['ok']} of {requests['sent']} ok"
        + (f", {requests['failed']} failed" if requests["failed"] else "")
        + (f", {requests['cancelled']} cancelled" if requests["cancelled"] else "")
        + f" in {seconds(result['duration_s'])}"
    ]
    for reuse in ("cold", "partial", "warm", "unknown"):
        dist = result["ttft_s"][reuse]
        if dist["n"]:
            rows.append(f"  TTFT {reuse:<8} p50 {seconds(dist['p50'])}  p95 {_tail(dist)}  n {dist['n']}")
    tpot, throughput = result["tpot_s"], result["throughput"]
    rows.append(f"  TPOT          p50 {seconds(tpot['p50'])}  p95 {_tail(tpot)}  n {tpot['n']}")
    rate = throughput["output_tokens_per_s"]
    rows.append(f"  output        {UNKNOWN if rate is None else f'{rate:.1f} tokens/s'}")
    rows.append(f"  prefix hits   {_hits(result['prefix_cache'])}")
    rows.append(f"  acceptance    {_acceptance(result['speculative'])}")
    rows += [f"    {name}: {_group(group)}" for name, group in result["groups"].items()]
    kv = result["kv_cache"]
    rows += _evicted(result["prefix_cache"].get("lost"))
    rows.append(f"  KV peak       {share(kv['usage_peak'])}, preemptions {_count(kv['preemptions'])}")
    rows += [
        f"  error         {error['kind']} x {error['count']}: {_plain(str(error['example']))}"
        for error in requests["errors"]
    ]
    rows += [
        f"  target        {t['name']} {judged(t)}"
        for t in result["targets"]
    ]
    rows += [f"  mismatch      {_plain(str(sentence))}" for sentence in result["engine"]["mismatches"]]
    return rows


def judged(target: dict[str, Any]) -> str:
    """``met: 0.84 s of 2.00 s``, ``MISSED: ...``, or ``unknown`` with its limit."""
    value, limit = (amount(target["name"], target[key]) for key in ("value", "limit"))
    if target["met"] is None:
        return f"{UNKNOWN} (limit {limit})"
    return f"{'met' if target['met'] else 'MISSED'}: {value} of {limit}"


def amount(name: str, value: float | None) -> str:
    """The value or limit of a target, in its unit: a time, a share, or a rate."""
    if value is None:
        return UNKNOWN
    if name == "goodput" or name.endswith("-rate"):
        return share(value)
    return f"{value:,.1f}" if name.endswith("per-s") else seconds(value)


def _tail(dist: dict[str, Any]) -> str:
    return seconds(dist["p95"]) if dist["p95"] is not None or not dist["n"] else "too few"


def _hits(cache: dict[str, Any]) -> str:
    if cache["state"] == "off":
        return "off"
    ceiling = "" if cache["ceiling"] is None else f" of {share(cache['ceiling'])} possible"
    return f"{share(cache['hit_rate'])}{ceiling} (by the answers {share(cache['client_hit_rate'])})"


def _acceptance(speculative: dict[str, Any]) -> str:
    if speculative["state"] == "off":
        return "off"
    length = speculative["mean_acceptance_length"]
    return f"{share(speculative['acceptance_rate'])}" + (
        "" if length is None else f", mean acceptance length {length:.2f}"
    )


def _group(group: dict[str, Any]) -> str:
    accepted = group["acceptance_rate"]
    tail = "" if accepted is None else f", acceptance {share(accepted)}"
    return (
        f"n {group['n']}, TTFT p50 {seconds(group['ttft_s']['p50'])}, TPOT p50 {seconds(group['tpot_s']['p50'])}{tail}"
    )


def _evicted(lost: dict[str, Any] | None) -> list[str]:
    """One line, where prefixes were asked for again after their blocks had been evicted."""
    if not lost or not lost["evicted_tokens"]:
        return []
    again = lost["evicted_tokens"] / lost["prompt_tokens"]
    return [f"  evicted       {share(again)} of the prompt tokens, asked for again in {lost['requests']} requests"]


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:300]
