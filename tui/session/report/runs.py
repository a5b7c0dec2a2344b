"""The table of runs, cold and warm apart, and the ratios to the baseline."""

from tui.session.report.figures import NONE, acceptance, count, hits, number, pair, ratio, share
from tui.session.report.markdown import escaped, table
from tui.session.report.material import Material, RunMaterial
from tui.traffic.outcome import Reuse

_ALWAYS: tuple[Reuse, ...] = ("cold", "warm")
_RATIOS = (
    ("TTFT p50", "ttft_s.p50"), ("TTFT p95", "ttft_s.p95"), ("cold p50", "ttft_s.cold.p50"),
    ("partial p50", "ttft_s.partial.p50"), ("warm p50", "ttft_s.warm.p50"), ("warm p95", "ttft_s.warm.p95"),
    ("TPOT p50", "tpot_s.p50"), ("E2E p50", "e2e_s.p50"), ("output tokens/s", "throughput.output_tokens_per_s"),
)  # fmt: skip


def section(material: Material) -> str:
    if not material.runs:
        return ""
    return "\n\n".join(part for part in ["## Runs", _table(material), _ratios(material)] if part)


def _table(material: Material) -> str:
    shown = [r for r in ("cold", "partial", "warm", "unknown") if r in _ALWAYS or _any(material, r)]
    head = ["run", "what changed", "n", *(f"TTFT {r} p50 / p95" for r in shown), "TPOT p50 / p95", "output tokens/s",
            "hit rate", "acceptance", "KV peak", "errors"]  # fmt: skip
    return table(head, [_row(run, shown, material) for run in material.runs], 2)


def _any(material: Material, reuse: str) -> bool:
    return any(run.result["ttft_s"][reuse]["n"] for run in material.runs)


def _row(run: RunMaterial, shown: list[str], material: Material) -> list[str]:
    result = run.result
    unfinished = "" if run.record.state in ("done", "drained") else f" ({escaped(run.record.state)})"
    mark = " **baseline**" if run is material.baseline and run.record.label != "baseline" else ""
    label = f"**{escaped(run.record.label)}**" if run is material.baseline and not mark else escaped(run.record.label)
    failed = result["requests"]["failed"]
    return [
        str(run.number),
        f"{label}{mark}{unfinished}",
        count(result["requests"]["ok"]),
        *(pair(result["ttft_s"][reuse]) for reuse in shown),
        pair(result["tpot_s"]),
        number(result["throughput"]["output_tokens_per_s"]),
        hits(result["prefix_cache"]),
        acceptance(result["speculative"]),
        share(result["kv_cache"]["usage_peak"]),
        f"**{failed}**" if failed else "0",
    ]


def _ratios(material: Material) -> str:
    others = [run for run in material.runs if run is not material.baseline]
    if material.baseline is None or not others or material.comparison is not None:
        return ""
    ratios = material.ratios
    columns = [(name, key) for name, key in _RATIOS if any(row[key] is not None for row in ratios.values())]
    if not columns:
        return "No request succeeded both in the baseline and in another run: there is nothing to compare."
    rows = [
        [str(run.number), escaped(run.record.label), *(ratio(ratios[run.number][key]) for _, key in columns)]
        for run in others
    ]
    words = (
        f"Run / baseline (run {material.baseline.number}), over the requests that succeeded in both, each in the class "
        "that it had where prefix caching was on. For times under 1 is faster, for tokens/s over 1 is more; "
        f"{NONE} is too few or unknown."
    )
    head = ["run", "what changed", *(name for name, _ in columns)]
    return "\n\n".join(["### Against the baseline", words, table(head, rows, 2)])
