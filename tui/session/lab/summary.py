"""What a lab is going to do and what it found, in plain lines for the terminal."""

from collections.abc import Mapping
from typing import Any

from tui.session.compare.conduct import minutes
from tui.session.compare.summary import answers
from tui.session.lab.prepare import LONGEST_S, Lab


def announced(lab: Lab) -> list[str]:
    """The estimate comes before anything starts."""
    study, sent = lab.study, lab.study.requests(lab.scale)
    control = lab.control()
    replays = sum(1 for _ in lab.plan.replays())
    beside = f", and a control of {len(control[2])}" if control else ""
    measured = "as measured here before" if lab.speed.known else "assumed: no lab ran here before"
    lines = [
        f"lab {study.name}: {', '.join(arm.name for arm in lab.plan.arms)}",
        f"scale {lab.scale:g}: {replays} replays of {len(sent)} requests{beside}, every one on an engine started anew",
        f"about {minutes(lab.estimate_s)} in all (prefill {lab.speed.prefill_tokens_per_s:,.0f} tokens/s, "
        f"{lab.plan.start} start {lab.speed.start_s:.0f} s; {measured})"
        f"{f'; at most {minutes(lab.check_s)} more for the output check' if lab.plan.check else ''}",
    ]
    if lab.left_out:
        lines.append(f"left out, for this profile can't have them: {', '.join(lab.left_out)}")
    if lab.cut and not lab.asked:
        fits = lab.estimate_s <= LONGEST_S
        why = f"to end within {minutes(LONGEST_S)} here" if fits else "as far as its figures allow"
        lines.append(f"cut {why}: --scale 1 sends all requests, --arms names others")
    return lines


def lines(found: Mapping[str, Any]) -> list[str]:
    """What the lab block of a vtune.comparison/1 object says."""
    lab = found["lab"]
    rows = [f"lab {lab['study']}, scale {lab['scale']:g}, {lab['requests']} requests a replay", *lab["sentences"]]
    rows += [f"answers of {arm['name']}: {words}" for arm in found["arms"] for words in answers(found, arm["name"])]
    return [*rows, *(f"caveat: {words}" for words in found["caveats"])]
