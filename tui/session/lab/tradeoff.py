"""What the chunked-prefill experiment found: who gains and who pays at each budget, and which budget to take."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from tui.session.compare.pairing import Replayed
from tui.session.lab.chunked import LONG, SHORT
from tui.session.stats import FEWEST_P95
from tui.session.summary import seconds

LONGER = 1.2  # what a long request may take, as a multiple of the baseline

# Of an arm's row: what is better smaller, and what is better larger.
_COSTS, _GAINS = ("short_ttft_p95_s", "long_e2e_s"), ("tokens_per_s",)


def block(found: Mapping[str, Any], replays: Sequence[Replayed], control: Replayed | None) -> dict[str, Any]:
    whole = [r for r in replays if r.whole]
    of_arm = {arm["name"]: [r for r in whole if r.arm == arm["name"]] for arm in found["arms"]}
    levers = {arm["name"]: next(iter(arm["levers"].values())) for arm in found["arms"]}
    rows = [_row(name, levers[name], runs) for name, runs in of_arm.items()]
    base = next(row for row in rows if row["arm"] == found["baseline"])
    for row in rows:
        row["long_ratio"] = _ratio(row["long_e2e_s"], base["long_e2e_s"])
        row["within"] = None if row["long_ratio"] is None else row["long_ratio"] <= LONGER
    known = [row for row in rows if all(row[key] is not None for key in (*_COSTS, *_GAINS))]
    for row in rows:
        row["pareto"] = None if row not in known else not any(_dominates(other, row) for other in known)
    chosen = _chosen(known)
    sentences = [_choice(chosen, base, found), _pareto(rows), _longs(base)]
    return {"headline": sentences[0], "longer": LONGER, "baseline": base["value"], "table": rows,
            "chosen": chosen and chosen["arm"], "sentences": sentences}  # fmt: skip


def _row(name: str, value: str, runs: Sequence[Replayed]) -> dict[str, Any]:
    """Short TTFTs of all replays together; a p95 needs 20 of them."""
    shorts = [o.ttft_s for r in runs for o in r.ok.values() if o.group == SHORT and o.ttft_s is not None]
    longs = [o.e2e_s for r in runs for o in r.ok.values() if o.group == LONG and o.e2e_s is not None]
    speeds = [t["prompt_tokens_per_s"] + t["output_tokens_per_s"] for r in runs
              if (t := r.result["throughput"])["prompt_tokens_per_s"] and t["output_tokens_per_s"]]  # fmt: skip
    return {
        "arm": name,
        "value": value,
        "short_ttft_p50_s": float(np.quantile(shorts, 0.5)) if shorts else None,
        "short_ttft_p95_s": float(np.quantile(shorts, 0.95)) if len(shorts) >= FEWEST_P95 else None,
        "short_n": len(shorts),
        "long_e2e_s": fmean(longs) if longs else None,
        "long_n": len(longs),
        "tokens_per_s": fmean(speeds) if speeds else None,
    }


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _dominates(other: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """As good in everything, better in something."""
    pairs = [(other[key], row[key]) for key in _COSTS] + [(row[key], other[key]) for key in _GAINS]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _chosen(known: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The lowest short p95 of those whose long requests take at most `LONGER` times the baseline's; it is one too."""
    allowed = [row for row in known if row["within"]]
    return min(allowed, key=lambda row: row["short_ttft_p95_s"]) if allowed else None


def _choice(chosen: Mapping[str, Any] | None, base: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    if chosen is None:
        return f"No budget can be named: a p95 needs {FEWEST_P95} short requests, and every arm an answer."
    if chosen["arm"] == base["arm"]:
        return (
            f"No budget beats {base['value']}: it has the lowest TTFT p95 of short requests, "
            f"{seconds(base['short_ttft_p95_s'])}, of all whose long requests take at most x{LONGER}."
        )
    told = next((v for v in found["verdicts"] if (v["arm"], v["metric"], v["split"]) ==
                 (chosen["arm"], "ttft_s.p95", f"group:{SHORT}")), None)  # fmt: skip
    word = told["word"] if told else "too few"
    verdict = "" if word == "faster" else f" Chance is not ruled out ({word})."
    return (
        f"Lowest TTFT p95 of short requests with long ones at most x{LONGER}: chunked prefill at {chosen['value']}, "
        f"{seconds(chosen['short_ttft_p95_s'])} against {seconds(base['short_ttft_p95_s'])} with {base['value']}; "
        f"long requests take x{chosen['long_ratio']:.2f}, total throughput "
        f"x{chosen['tokens_per_s'] / base['tokens_per_s']:.2f}.{verdict}"
    )


def _pareto(rows: Sequence[Mapping[str, Any]]) -> str:
    best = [row["value"] for row in rows if row["pareto"]]
    worse = [row["value"] for row in rows if row["pareto"] is False]
    if not best:
        return "No Pareto set: figures are missing."
    rest = f"; dominated by another: {', '.join(worse)}" if worse else ""
    return f"Pareto set of short TTFT p95, long completion and total throughput: {', '.join(best)}{rest}."


def _longs(base: Mapping[str, Any]) -> str:
    return (
        f"Each arm had {base['short_n']} short and {base['long_n']} long requests in its replays; long completion is "
        "their mean."
    )
