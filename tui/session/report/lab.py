"""What an experiment found: its sentences, and the table that belongs to it."""

from collections.abc import Mapping, Sequence
from typing import Any

from tui.session.compare.conduct import minutes
from tui.session.lab.prepare import LONGEST_S
from tui.session.report.figures import NONE, UNKNOWN, count, number, ratio, seconds, share
from tui.session.report.markdown import bullets, code, escaped, table
from tui.session.report.material import Material


def section(material: Material) -> str:
    found = material.comparison
    if found is None or found.get("lab") is None:
        return ""
    lab = found["lab"]
    parts = [f"## Lab: {escaped(lab['study'])}", _how(lab), bullets(map(escaped, lab["sentences"]))]
    tables = {"prefix": _prefix, "chunked": _chunked, "speculative": _speculative}
    if lab["sentences"] and lab["study"] in tables:
        parts += tables[lab["study"]](lab)
    return "\n\n".join(part for part in parts if part)


def sentence(lab: Mapping[str, Any]) -> str:
    """The experiment's finding in a line, for the summary."""
    return escaped(lab.get("headline") or "The experiment has no finding yet.")


def _how(lab: Mapping[str, Any]) -> str:
    control = f", {lab['control_requests']} in the control" if lab["control_requests"] else ""
    fits = lab["estimate_s"] is None or lab["estimate_s"] <= LONGEST_S
    cut = f", cut to end within {minutes(LONGEST_S)} here" if fits else ", cut as far as its figures allow"
    why = "" if lab["scale"] == 1 else ", as asked" if lab["asked"] else cut
    return f"{escaped(lab['notes'])} Scale {lab['scale']:g}{why}: {lab['requests']} requests a replay{control}."


def _prefix(lab: Mapping[str, Any]) -> list[str]:
    warm, cold, control = lab["warm"], lab["cold"], lab["control"]
    rows = [
        ["warm, off", str(warm["n"]), seconds(warm["off_ttft_s"]), NONE],
        ["warm, on", str(warm["n"]), seconds(warm["on_ttft_s"]), _times(warm)],
        ["all of that length, off", str(cold["n_off"]), seconds(cold["off_ttft_s"]), NONE],
        ["cold, on", str(cold["n_cold"]), seconds(cold["on_ttft_s"]), _band(cold)],
        ["control, on", str(control["n"]), seconds(control["ttft_s"]), f"hit rate {share(control['hit_rate'])}"],
    ]
    return [table(["requests", "n", "TTFT p50", "against off"], rows, 1)]


def _times(warm: Mapping[str, Any]) -> str:
    return UNKNOWN if warm["times_lower"] is None else f"{warm['times_lower']:.1f} times lower"


def _band(cold: Mapping[str, Any]) -> str:
    if cold["ratio"] is None:
        return UNKNOWN
    return f"{ratio(cold['ratio'])}, by noise {ratio(cold['band'][0])} to {ratio(cold['band'][1])}"


def _chunked(lab: Mapping[str, Any]) -> list[str]:
    head = ["chunked prefill", "short TTFT p50", "short TTFT p95", "n", "long completion",
            f"of {escaped(lab['baseline'])}", "n", "tokens/s", "Pareto"]  # fmt: skip
    return [table(head, [_budget(row, lab) for row in lab["table"]], 1)]


def _budget(row: Mapping[str, Any], lab: Mapping[str, Any]) -> list[str]:
    name = code(row["value"])
    return [
        f"**{name}**" if row["arm"] == lab["chosen"] else name,
        seconds(row["short_ttft_p50_s"]),
        seconds(row["short_ttft_p95_s"]),
        count(row["short_n"]),
        seconds(row["long_e2e_s"]),
        UNKNOWN if row["long_ratio"] is None else ratio(row["long_ratio"]) + ("" if row["within"] else " (too long)"),
        count(row["long_n"]),
        number(row["tokens_per_s"], 0),
        {True: "yes", False: "no", None: UNKNOWN}[row["pareto"]],
    ]


def _speculative(lab: Mapping[str, Any]) -> list[str]:
    head = ["requests", "acceptance", "per position", "tokens a step", "break-even", "TPOT without", "TPOT", "ratio",
            "verdict", "total without", "total", "advice"]  # fmt: skip
    parts = []
    for arm in lab["table"]:
        parts += [f"### {escaped(arm['arm'])}", table(head, [_group(row) for row in arm["table"]], 1)]
        parts.append(f"Accepted per position, by the engine's counters: {_positions(arm['per_position'])}.")
    return parts


def _positions(shares: Sequence[float] | None) -> str:
    return ", ".join(share(at) for at in shares or ()) or UNKNOWN


def _group(row: Mapping[str, Any]) -> list[str]:
    return [
        escaped(row["group"]),
        share(row["acceptance"]),
        _positions(row.get("per_position")),
        number(row["accepted_length"], 2),
        number(row["break_even"], 2),
        seconds(row["tpot_off_s"]),
        seconds(row["tpot_s"]),
        ratio(row["ratio"]),
        row["word"],
        seconds(row["total_off_s"]),
        seconds(row["total_s"]),
        row["advice"],
    ]
