"""Arms against the baseline: how they were compared, what the verdicts are, why, and what it costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tui.session.compare.summary import SHOWN
from tui.session.compare.versions import named
from tui.session.report import output_check
from tui.session.report.figures import NONE, acceptance, count, hits, quantile, ratio, size
from tui.session.report.markdown import bullets, code, escaped, table
from tui.session.report.material import Material
from tui.session.summary import amount

_CLAIMS = ("faster", "slower")


def section(material: Material) -> str:
    found = material.comparison
    if found is None:
        return ""
    parts = ["## Comparison", _how(found), _arms(found), _floor(found)]
    for arm in found["arms"]:
        if arm["name"] != found["baseline"]:
            title = f"### {escaped(_named(found, arm['name']))} against {escaped(_named(found, found['baseline']))}"
            parts += [title, _verdicts(found, arm["name"])]
            parts += [part for part in (_moved(arm),) if part]
    parts.append(output_check.section(found))
    return "\n\n".join(part for part in parts if part)


def sentence(material: Material) -> str:
    """The strongest claim of the comparison, or that there is none."""
    found = material.comparison
    assert found is not None
    claims = [row for row in found["verdicts"] if row["word"] in _CLAIMS]
    changed = [r["arm"] for r in (found["output_check"] or {}).get("arms", ()) if r["word"] == "changed"]
    if not claims:
        also = _changed(found, changed)
        few = sum(row["word"] == "too few" for row in found["verdicts"])
        if few == len(found["verdicts"]):
            return f"Too little was measured to tell any arm from {code(found['baseline'])}{also}."
        judged = f"{len(found['verdicts']) - few} verdicts see no difference, {few} have too few"
        return f"No arm is told apart from {code(found['baseline'])} by its times: {judged}{also}."
    row = max(claims, key=lambda r: abs(math.log(r["ratio"])))
    but = ", but its answers changed" if row["arm"] in changed else ""
    also = _changed(found, [arm for arm in changed if arm != row["arm"]])
    return (
        f"{_called(found, row['arm'])} is {row['word']} than {_called(found, found['baseline'])} "
        f"in {SHOWN[row['metric']]} of {_split(row['split'])}: {_ratio(row)} times the baseline's{but}; "
        f"{len(claims)} of {len(found['verdicts'])} verdicts claim a difference{also}."
    )


def _changed(found: Mapping[str, Any], arms: Sequence[str]) -> str:
    """What no verdict on times says."""
    return f"; the answers of {' and '.join(_called(found, arm) for arm in arms)} changed" if arms else ""


def _version(found: Mapping[str, Any], name: str) -> str:
    return next((named(arm, found["arms"]) for arm in found["arms"] if arm["name"] == name), "")


def _named(found: Mapping[str, Any], name: str) -> str:
    return name + _version(found, name)


def _called(found: Mapping[str, Any], name: str) -> str:
    version = _version(found, name)
    return f"{code(name)} {escaped(version)}" if version else code(name)


def _how(found: Mapping[str, Any]) -> str:
    rounds = "one mirrored round" if found["rounds"] == 1 else f"{found['rounds']} mirrored rounds"
    return (
        f"{rounds[0].upper()}{rounds[1:]}: {', '.join(code(name) for name in found['order'])}. Every replay had an "
        f"engine started anew, the same way ({escaped(found['start'])}), warmed up, with an empty prefix cache. "
        "Requests are paired by id, and a request keeps one class in all arms. Ratios are arm / baseline; an interval "
        "holds 95 % of what other requests and another draw of the machine's noise would give; a word claims a "
        "difference only where the verdicts of the whole comparison, corrected together, leave 5 % to chance "
        f"(seed {found['seed']})."
    )


def _arms(found: Mapping[str, Any]) -> str:
    head = ["arm", "replays", "TTFT p50", "TTFT p95", "TPOT p50", "hit rate", "acceptance", "KV cache tokens",
            "memory peak", "targets"]  # fmt: skip
    return table(head, [_arm(arm, found) for arm in found["arms"]], 1)


def _arm(arm: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    runs = arm["runs"]
    mark = " (baseline)" if arm["name"] == found["baseline"] else ""
    return [
        f"{_called(found, arm['name'])}{mark}",
        str(len(runs)),
        _each(quantile(run["ttft_s"]["all"], "p50") for run in runs),
        _each(quantile(run["ttft_s"]["all"], "p95") for run in runs),
        _each(quantile(run["tpot_s"], "p50") for run in runs),
        _each(hits(run["prefix_cache"]) for run in runs),
        _each(acceptance(run["speculative"]) for run in runs),
        _each(count(run["engine"]["kv_cache_tokens"]) for run in runs),
        _each(size(run["memory"]["engine_pss_peak_bytes"]) for run in runs),
        ", ".join(f"{escaped(t['name'])} {_judged(t)}" for t in arm["targets"]) or NONE,
    ]


def _each(words: Any) -> str:
    """Every replay's value; one where all are the same."""
    return ", ".join(dict.fromkeys(words)) or NONE


def _judged(target: Mapping[str, Any]) -> str:
    word = "met" if target["met"] else "unknown" if target["met"] is None else "**missed**"
    value = "" if target["value"] is None else f"{amount(target['name'], target['value'])} of "
    return f"{word} ({value}{amount(target['name'], target['limit'])})"


def _floor(found: Mapping[str, Any]) -> str:
    rows = [
        [SHOWN[name], ratio(floor["ratio"]), f"{floor['ci'][0]:.2f} to {floor['ci'][1]:.2f}" if floor["ci"] else NONE]
        for name, floor in found["noise_floor"].items()
        if floor["ratio"] is not None
    ]
    words = (
        "Noise floor, A against A: two replays of the same arm typically differ by this factor, and equal arms would "
        "lie in this band in 95 % of comparisons."
    )
    return "\n\n".join([words, table(["metric", "factor", "band"], rows)]) if rows else "There is no A against A yet."


def _verdicts(found: Mapping[str, Any], arm: str) -> str:
    rows = [
        [SHOWN[row["metric"]], escaped(_split(row["split"])), _word(row), _ratio(row), str(row["n"]), _why(row)]
        for row in found["verdicts"]
        if row["arm"] == arm
    ]
    return table(["metric", "requests", "verdict", "ratio (95 %)", "n", "why"], rows, 6)


def _split(split: str) -> str:
    return "all requests" if split == "all" else f"group {split[6:]}" if split.startswith("group:") else f"{split} ones"


def _word(row: Mapping[str, Any]) -> str:
    return f"**{row['word']}**" if row["word"] in _CLAIMS else row["word"]


def _ratio(row: Mapping[str, Any]) -> str:
    if row["ratio"] is None:
        return NONE
    return ratio(row["ratio"]) + (f" ({ratio(row['ci'][0])} to {ratio(row['ci'][1])})" if row["ci"] else "")


def _why(row: Mapping[str, Any]) -> str:
    return escaped("; ".join(words for words in (row["why"], *row["flags"]) if words and words != "suspicious")) or NONE


def _moved(arm: Mapping[str, Any]) -> str:
    moved = [move["words"] for move in arm["moved"] if move["words"] not in arm["costs"]]
    return bullets([*(f"moved: {escaped(words)}" for words in moved),
                    *(f"costs: {escaped(words)}" for words in arm["costs"])])  # fmt: skip
