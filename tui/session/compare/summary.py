"""A comparison in plain lines, for the terminal."""

from collections.abc import Mapping
from typing import Any

from tui.session.compare.verdict import OVERALL
from tui.session.compare.versions import named
from tui.session.summary import judged

SHOWN = {metric.name: metric.title for metric in OVERALL}


def lines(found: Mapping[str, Any]) -> list[str]:
    """What a vtune.comparison/1 object says; ratios are arm / baseline."""
    rows = [
        f"baseline: {_arm(found, found['baseline'])} "
        f"({found['rounds']} mirrored round{'s' if found['rounds'] > 1 else ''}, "
        f"every replay on an engine started anew, {found['start']}; seed {found['seed']})"
    ]
    for arm in found["arms"]:
        if arm["name"] == found["baseline"]:
            continue
        rows.append(f"{_arm(found, arm['name'])}:")
        rows += [_line(row) for row in found["verdicts"] if row["arm"] == arm["name"]]
        rows += [f"  costs: {words}" for words in arm["costs"]]
        rows += [f"  answers: {words}" for words in answers(found, arm["name"])]
    rows += [f"target {t['name']}, {arm['name']}: {judged(t)}" for arm in found["arms"] for t in arm["targets"]]
    rows += [f"caveat: {words}" for words in found["caveats"]]
    return rows


def _arm(found: Mapping[str, Any], name: str) -> str:
    return name + next((named(arm, found["arms"]) for arm in found["arms"] if arm["name"] == name), "")


def answers(found: Mapping[str, Any], arm: str) -> list[str]:
    """What the output check says of an arm, in a line; empty where it was not made."""
    rows = (found["output_check"] or {}).get("arms", ())
    return [f"{row['word']}: {row['why']}" if row["why"] else row["word"] for row in rows if row["arm"] == arm]


def _line(row: Mapping[str, Any]) -> str:
    what = f"{SHOWN[row['metric']]}, {row['split']}"
    flags = "".join(f" [{flag}]" for flag in row["flags"])
    return f"  {what:<24} {row['word']:<18} {ratio(row):<22} n {row['n']:<4} {row['why']}{flags}".rstrip()


def ratio(row: Mapping[str, Any]) -> str:
    """``x0.12 (0.10 to 0.15)``, or a dash where nothing was measured."""
    if row["ratio"] is None:
        return "-"
    return f"x{row['ratio']:.2f}" + (f" ({row['ci'][0]:.2f} to {row['ci'][1]:.2f})" if row["ci"] else "")
