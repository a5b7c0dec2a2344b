"""`vtune.comparison/1`, from the journal's comparison event and the runs.

Beside the keys of the design each verdict has `difference` and `difference_ci` (arm - baseline, s or tokens/s),
`p` (corrected for all verdicts of the comparison), `needs` (how many would do, else null) and `flags`; each arm
`start`, `vllm`, `moved`, `costs` and `targets`; the whole has `session`, `recording`, `pace`, `vary`, `start`,
`fix_lengths`, `complete` and `caveats`. `noise_floor`: `ratio` is the typical factor (root mean square) between
two replays of the same arm, `ci` the band of arm / baseline in which equal arms lie in 95 % of comparisons.
`output_check` is null where none was wanted; `tui.session.check.build` says what it holds.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from tui.session.compare import chance, pairing, versions, why
from tui.session.compare.pairing import Pairing, Replayed
from tui.session.compare.verdict import LEVEL, OVERALL, SPEED, Verdict, judge
from tui.traffic.outcome import REUSES

SCHEMA = "vtune.comparison/1"

_LENGTHS_MATTER = ("e2e_s", "throughput")


def comparison(
    plan: Mapping[str, Any], replays: Sequence[Replayed], session: str = "", checked: dict[str, Any] | None = None
) -> dict[str, Any]:
    """`plan` is the journal's comparison event, `replays` what was made of it so far, in order; `checked` is the
    output check."""
    base, names = plan["baseline"], [arm["name"] for arm in plan["arms"]]
    of_arm = {name: [r for r in replays if r.arm == name] for name in names}
    others = [name for name in names if name != base]
    pairs = {name: pairing.pair(name, base, replays) for name in others}
    verdicts = judge(pairs, _splits(replays, base), plan["seed"])
    first = replays[0].result if replays else {}
    changed = {row["arm"] for row in (checked or {}).get("arms", ()) if row["word"] == "changed"}
    return {
        "schema": SCHEMA,
        "session": session,
        "recording": first.get("recording"),
        "pace": first.get("pace"),
        "vary": list(plan["vary"]),
        "arms": [_arm(arm, of_arm, base, verdicts.get(arm["name"], []), plan) for arm in plan["arms"]],
        "baseline": base,
        "rounds": plan["rounds"],
        "order": list(plan["order"]),
        "seed": plan["seed"],
        "start": kinds[0] if len(kinds := _kinds(replays)) == 1 else plan["start"],
        "fix_lengths": plan["fix_lengths"],
        "complete": len(replays) == len(plan["order"]) and all(r.whole for r in replays),
        "noise_floor": _noise_floor(replays, names),
        "verdicts": [
            _marked(row, changed)
            for name in others
            for row in _rows(name, of_arm, base, pairs[name], verdicts[name], plan)
        ],
        "caveats": _caveats(plan, replays, others),
        "output_check": checked,
    }


def _marked(row: dict[str, Any], changed: set[str]) -> dict[str, Any]:
    """A gain of an arm that answers something else is none."""
    if row["word"] != "faster" or row["arm"] not in changed:
        return row
    return {**row, "flags": [*row["flags"], "its answers changed"]}


def _splits(replays: Sequence[Replayed], base: str) -> dict[str, list[str] | None]:
    """Name -> ids; a class or group that no request has is left out."""
    of_class, of_group = pairing.classes(replays, base), pairing.groups(replays)
    splits: dict[str, list[str] | None] = {"all": None}
    for reuse in REUSES:
        if reuse != "unknown" and (ids := [i for i, found in of_class.items() if found == reuse]):
            splits[reuse] = ids
    for name in sorted(set(of_group.values())):
        splits[f"group:{name}"] = [i for i, found in of_group.items() if found == name]
    if (long := pairing.long(replays)) and all(ids is None or set(ids) != set(long) for ids in splits.values()):
        splits["long"] = long
    return splits


def _arm(
    arm: Mapping[str, Any], of_arm: Mapping[str, list[Replayed]], base: str, verdicts: list[Verdict],
    plan: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    replays = of_arm[arm["name"]]
    found = why.moves(replays, of_arm[base], plan["fix_lengths"]) if arm["name"] != base else []
    return {
        "name": arm["name"],
        "levers": dict(word.split("=", 1) for word in arm["settings"]),
        "start": sorted({r.result["engine"]["start_kind"] or "unknown" for r in replays}),
        "vllm": versions.of(replays),
        "moved": [move.to_json() for move in found if move.way],
        "costs": why.costs(found, verdicts),
        "targets": _targets(replays),
        "runs": [dict(r.result) for r in replays],
    }


def _targets(replays: Sequence[Replayed]) -> list[dict[str, Any]]:
    """Each target with the mean of its values over the arm's replays; met when every replay met it."""
    rows = []
    for judged in zip(*(r.result["targets"] for r in replays), strict=False):
        known = [row["value"] for row in judged if row["value"] is not None]
        met = [row["met"] for row in judged]
        rows.append({"name": judged[0]["name"], "limit": judged[0]["limit"], "value": fmean(known) if known else None,
                     "met": False if False in met else None if None in met else True})  # fmt: skip
    return rows


def _noise_floor(replays: Sequence[Replayed], arms: Sequence[str]) -> dict[str, Any]:
    """A against A: the two replays of each mirrored round of every arm, all requests."""
    twice = [p for name in arms if (p := pairing.pair(name, name, replays)) is not None and p.mirrored]
    return {metric.name: _floor([d for p in twice for d in _again(p, metric)]) for metric in OVERALL}


def _again(same: Pairing, metric: Any) -> list[float]:
    """Logarithm of second / first replay of each round."""
    if metric.attribute is None:
        speeds = [[replay.result["throughput"][SPEED] for replay in round] for round in same.base]
        return [math.log(b / a) for a, b in speeds if a and b]
    ids = same.ids(metric.attribute)
    if not ids:
        return []
    logs = np.log(np.quantile(pairing.values(same.base, ids, metric.attribute), metric.q, axis=-1))
    return [float(b - a) for a, b in logs]


def _floor(found: Sequence[float]) -> dict[str, Any]:
    """Two replays of an arm differ by sqrt(2) s, arm and baseline with one round each by s."""
    if not found:
        return {"ratio": None, "ci": None}
    typical = math.sqrt(fmean(d * d for d in found))
    width = chance.t_quantile(1 - LEVEL, len(found)) * typical / math.sqrt(2)
    return {"ratio": math.exp(typical), "ci": [math.exp(-width), math.exp(width)]}


def _rows(
    arm: str, of_arm: Mapping[str, list[Replayed]], base: str, pair: Pairing | None, verdicts: Sequence[Verdict],
    plan: Mapping[str, Any],
) -> list[dict[str, Any]]:  # fmt: skip
    found = why.moves(of_arm[arm], of_arm[base], plan["fix_lengths"])
    settings = {row["name"]: set(row["settings"]) for row in plan["arms"]}
    changed = sorted({word.partition("=")[0] for word in settings[arm] - settings[base]})
    pace = next((r.result["pace"]["mode"] for r in of_arm[base]), None)
    unequal, compared = pairing.unequal_lengths(pair) if pair else (0, 0)
    another = versions.change(of_arm[arm], of_arm[base])
    rows = []
    for verdict in verdicts:
        words, suspicious = why.explain(verdict, found, changed)
        words, suspicious = versions.explained(words, suspicious, verdict.word in ("faster", "slower"), another)
        flags = ["suspicious"] if suspicious else []
        if verdict.metric.attribute is None and pace not in (None, "closed"):
            flags.append(f"the pace sets it ({pace})")
        if unequal and verdict.metric.name.startswith(_LENGTHS_MATTER):
            flags.append(f"output lengths differ in {unequal} of {compared} requests")
        rows.append(_row(verdict, words, flags))
    return rows


def _row(verdict: Verdict, words: str, flags: list[str]) -> dict[str, Any]:
    return {
        "arm": verdict.arm,
        "metric": verdict.metric.name,
        "split": verdict.split,
        "word": verdict.word,
        "ratio": verdict.ratio,
        "ci": None if verdict.ci is None else list(verdict.ci),
        "n": verdict.n,
        "why": words,
        "difference": verdict.difference,
        "difference_ci": None if verdict.difference_ci is None else list(verdict.difference_ci),
        "p": verdict.p,
        "needs": verdict.needs,
        "flags": flags,
    }


def _caveats(plan: Mapping[str, Any], replays: Sequence[Replayed], others: Sequence[str]) -> list[str]:
    kinds = _kinds(replays)
    levers = [words.partition("=")[0] for words in plan["vary"]]
    missing = len(plan["order"]) - sum(r.whole for r in replays)
    failed = [arm for arm in (plan["baseline"], *others) if _failed(arm, replays)]
    found = {
        f"{' and '.join(levers)} were varied together: what only one of them gains can't be told": len(levers) > 1,
        f"the engines were not all started the same way: {', '.join(kinds)}": len(kinds) > 1,
        f"{plan['start']} starts were asked for, and the engines were started {''.join(kinds[:1])}": len(kinds) == 1
        and kinds != [plan["start"]],
        f"{missing} of {len(plan['order'])} replays are missing or were cut short: only complete mirrored rounds "
        "give verdicts": missing,
        "answers had fixed lengths and went on past their natural end: acceptance is not judged, and TPOT with "
        "speculation is not that of real answers": plan["fix_lengths"],
        f"requests failed on {', '.join(failed)}: only those that succeeded in every replay are compared": failed,
    }
    of_arm = {name: [r for r in replays if r.arm == name] for name in (plan["baseline"], *others)}
    return [*(words for words, holds in found.items() if holds), *versions.caveats(plan["vary"], of_arm)]


def _kinds(replays: Sequence[Replayed]) -> list[str]:
    """How the engines really were started."""
    return sorted({r.result["engine"]["start_kind"] or "unknown" for r in replays})


def _failed(arm: str, replays: Sequence[Replayed]) -> bool:
    return any(r.arm == arm and r.result["requests"]["failed"] for r in replays)
