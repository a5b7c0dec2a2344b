"""One run in full: its distributions, what the engine did, targets and errors."""

from datetime import UTC, datetime
from typing import Any

from tui.session.report import course, histogram, kv_cache
from tui.session.report.figures import FEW, NONE, UNKNOWN, acceptance, count, number, pair, seconds, share, size
from tui.session.report.markdown import bullets, code, escaped, fence, table
from tui.session.report.material import RunMaterial
from tui.session.stats import Dist
from tui.traffic.outcome import REUSES

_COLUMNS = ("mean", "p50", "p90", "p95", "p99", "min", "max")


def section(run: RunMaterial) -> str:
    parts = [
        f"## Run {run.number}: {escaped(run.record.label or 'without a label')}",
        bullets(_facts(run)),
        _histogram(run),
        _times(run.result),
        course.section(run),
        bullets([*_engine_facts(run.result), *kv_cache.facts(run.result)]),
        kv_cache.engines(run.result),
        kv_cache.turns(run.result),
        _positions(run.result),
        _groups(run.result),
        _targets(run.result),
        _errors(run.result),
    ]
    return "\n\n".join(part for part in parts if part)


def _facts(run: RunMaterial) -> list[str | None]:
    result, requests = run.result, run.result["requests"]
    started = datetime.fromtimestamp(run.record.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    cancelled = f", {requests['cancelled']} cancelled" if requests["cancelled"] else ""
    rates = result["throughput"]
    goodput = result["goodput"]["share"]
    return [
        f"engine {run.record.engine}, started {started}, {seconds(result['duration_s'])} long, "
        f"state {escaped(run.record.state)}",
        f"{requests['ok']} of {requests['sent']} requests ok, {requests['failed']} failed{cancelled}",
        f"{number(rates['requests_per_s'], 2)} requests/s, {number(rates['prompt_tokens_per_s'])} prompt tokens/s, "
        f"{number(rates['output_tokens_per_s'])} output tokens/s",
        None if goodput is None else f"{share(goodput)} of the requests kept every time limit of the targets",
        _client(result["fidelity"]),
        f"its file can't be read: {escaped(run.fault)}" if run.fault else None,
    ]


def _client(fidelity: dict[str, Any]) -> str | None:
    if fidelity["clock"] is None:
        return None
    clock = {"kernel": "arrivals timed by the kernel", "user": "arrivals timed by the replayer itself"}
    return (
        f"replayer: {clock.get(fidelity['clock'], 'clock unknown')}, "
        f"{share(fidelity['replayer_cpu_share'])} of a core, "
        f"{count(fidelity['coalesced_events'])} content events came several in a read or late, "
        f"{count(fidelity['ticks_dropped'])} ticks dropped"
    )


def _histogram(run: RunMaterial) -> str:
    ok = [o for o in run.outcomes if o.status == "ok" and o.ttft_s is not None]
    text = histogram.ttft({reuse: [o.ttft_s or 0.0 for o in ok if o.reuse == reuse] for reuse in REUSES})
    return fence(text) if text else ""


def _times(result: dict[str, Any]) -> str:
    ttft, server = result["ttft_s"], result["server"]
    split = [(f"TTFT, {reuse}", ttft[reuse]) for reuse in REUSES if ttft[reuse]["n"]]
    rows = [
        ("TTFT, all", ttft["all"]), *split, ("TPOT", result["tpot_s"]), ("ITL, per chunk", result["itl_s"]),
        ("E2E", result["e2e_s"]), ("engine: queue", server["queue_s"]), ("engine: prefill", server["prefill_s"]),
        ("engine: decode", server["decode_s"]), ("send lag", result["fidelity"]["send_lag_s"]),
    ]  # fmt: skip
    known = [(name, dist) for name, dist in rows if dist["n"]]
    if not known:
        return ""
    tokens = result["output_tokens"]
    lines = [[name, count(dist["n"]), *(_value(dist, q) for q in _COLUMNS)] for name, dist in known]
    if tokens["n"]:
        words = [FEW if tokens[q] is None else number(tokens[q], 1) for q in _COLUMNS]
        lines.append(["output tokens", count(tokens["n"]), *words])
    return table(("", "n", *_COLUMNS), lines)


def _value(dist: Dist, name: str) -> str:
    return FEW if dist[name] is None else seconds(dist[name])


def _engine_facts(result: dict[str, Any]) -> list[str]:
    kv, memory = result["kv_cache"], result["memory"]
    gpu = f", GPU memory in use {size(memory['gpu_used_bytes'])}" if memory["gpu_used_bytes"] is not None else ""
    return [
        f"prefix cache: {_prefix(result['prefix_cache'])}",
        f"speculation: {_speculation(result['speculative'])}",
        f"KV cache usage: peak {share(kv['usage_peak'])}, mean {share(kv['usage_mean'])}; "
        f"preemptions: {count(kv['preemptions'])}",
        f"engine memory (PSS), peak: {size(memory['engine_pss_peak_bytes'])}{gpu}",
    ]


def _prefix(cache: dict[str, Any]) -> str:
    if cache["state"] == "off":
        return "off"
    rate, ceiling = cache["hit_rate"], cache["ceiling"]
    words = f"{cache['state']}, hit rate {share(rate)}"
    if ceiling is not None:
        reached = f" ({share(rate / ceiling)} of it)" if rate is not None and ceiling else ""
        words += f" of at most {share(ceiling)}{reached}"
    if cache["queries"] is not None:
        words += f"; {count(cache['hits'])} of {count(cache['queries'])} queried prompt tokens were cached"
    return f"{words}; by the answers {share(cache['client_hit_rate'])}"


def _speculation(speculative: dict[str, Any]) -> str:
    if speculative["state"] != "on":
        return str(speculative["state"])
    length = speculative["mean_acceptance_length"]
    return (
        f"on ({code(speculative['method'] or UNKNOWN)}), acceptance {acceptance(speculative)} "
        f"({count(speculative['accepted_tokens'])} of {count(speculative['draft_tokens'])} draft tokens in "
        f"{count(speculative['drafts'])} drafts), mean acceptance length {number(length, 2)}, "
        f"tokens per step {number(speculative['tokens_per_step'], 2)} (steps without a draft included)"
    )


def _positions(result: dict[str, Any]) -> str:
    rates = result["speculative"]["per_position"]
    return fence(histogram.positions(rates)) if rates else ""


def _groups(result: dict[str, Any]) -> str:
    if not result["groups"]:
        return ""
    rows = [
        [code(name), count(group["n"]), pair(group["ttft_s"]), pair(group["tpot_s"]), pair(group["e2e_s"]),
         "off" if result["speculative"]["state"] == "off" else share(group["acceptance_rate"])]
        for name, group in result["groups"].items()
    ]  # fmt: skip
    return table(("group", "n", "TTFT p50 / p95", "TPOT p50 / p95", "E2E p50 / p95", "acceptance"), rows)


def _targets(result: dict[str, Any]) -> str:
    if not result["targets"]:
        return ""
    words = {True: "met", False: "**missed**", None: UNKNOWN}
    rows = [
        [code(t["name"]), _amount(t["name"], t["limit"]), _amount(t["name"], t["value"]), words[t["met"]]]
        for t in result["targets"]
    ]
    return table(("target", "limit", "value", ""), rows)


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if name.endswith(("-rate", "goodput")):
        return share(value)
    return number(value) if name.endswith("per-s") else seconds(value)


def _errors(result: dict[str, Any]) -> str:
    errors = result["requests"]["errors"]
    rows = [[code(e["kind"]), str(e["count"]), code(e["example"]) if e["example"] else NONE] for e in errors]
    return table(("error", "count", "example"), rows, 3) if rows else ""
