"""What the speculative experiment found: where guessed tokens pay, and where to turn guessing off."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean, median
from typing import Any

from tui.session.compare.pairing import Replayed
from tui.session.summary import share
from tui.traffic.outcome import Outcome

WORTH = 0.95  # a ratio of TPOT that is worth having: below it nothing is given up by calling it no gain

KEEP, OFF, OPEN = "keep it", "turn it off", "not settled"


def block(found: Mapping[str, Any], replays: Sequence[Replayed], control: Replayed | None) -> dict[str, Any]:
    whole = [r for r in replays if r.whole]
    base = [r for r in whole if r.arm == found["baseline"]]
    groups = list(dict.fromkeys(o.group for r in base for o in r.ok.values() if o.group))
    arms = []
    for arm in found["arms"]:
        if arm["name"] == found["baseline"]:
            continue
        runs = [r for r in whole if r.arm == arm["name"]]
        rows = [_row(found, arm["name"], group, runs, base) for group in (None, *groups)]
        value, changed = arm["levers"].get("speculative"), _changed(found, arm["name"])
        arms.append({"arm": arm["name"], "value": value, "table": rows, "per_position": _per_position(runs),
                     "changed": changed is not None,
                     "advice": f"{value}: {_broken(changed)}{_advice(rows)}"})  # fmt: skip
    return {"headline": " ".join(map(_short, arms)), "table": arms, "sentences": [arm["advice"] for arm in arms],
            "caveats": _caveats(found, whole)}  # fmt: skip


def _short(arm: Mapping[str, Any]) -> str:
    """``ngram: keep it for extract t=0; turn it off for write t=1.``"""
    groups = arm["table"][1:]
    parts = [f"{advice} for {', '.join(row['group'] for row in groups if row['advice'] == advice)}"
             for advice in (KEEP, OFF, OPEN) if any(row["advice"] == advice for row in groups)]  # fmt: skip
    return f"{arm['value']}: {'; '.join(parts) or OPEN}{', and its answers changed' if arm['changed'] else ''}."


def _changed(found: Mapping[str, Any], arm: str) -> str | None:
    """Why the output check says that the answers are others; None where it does not."""
    rows = (found.get("output_check") or {}).get("arms", ())
    return next((row["why"] for row in rows if row["arm"] == arm and row["word"] == "changed"), None)


def _broken(changed: str | None) -> str:
    """What no speed makes up for."""
    return "" if changed is None else f"{OFF}, for its answers are not the baseline's ({changed}). By speed: "


def _row(
    found: Mapping[str, Any], arm: str, group: str | None, runs: Sequence[Replayed], base: Sequence[Replayed]
) -> dict[str, Any]:
    """One group of an arm against the baseline's; `group` None: all requests."""
    ours, theirs = _of(runs, group), _of(base, group)
    split = "all" if group is None else f"group:{group}"
    told = next((v for v in found["verdicts"] if (v["arm"], v["metric"], v["split"]) == (arm, "tpot_s.p50", split)), {})
    step = _step_cost(ours, theirs)
    word, ci = told.get("word", "too few"), told.get("ci")
    return {
        "group": group or "all",
        "n": told.get("n", 0),
        "acceptance": _acceptance(ours),
        "accepted_length": _length(ours),
        "per_position": _accepted_at(ours),
        "tpot_s": _median(o.tpot_s for o in ours),
        "tpot_off_s": _median(o.tpot_s for o in theirs),
        "ratio": told.get("ratio"),
        "ci": ci,
        "word": word,
        "total_s": _total(ours, runs),
        "total_off_s": _total(theirs, base),
        "break_even": step,
        "advice": _judged(word, ci),
    }


def _of(runs: Iterable[Replayed], group: str | None) -> list[Outcome]:
    return [o for r in runs for o in r.ok.values() if group is None or o.group == group]  # type: ignore[misc]


def _acceptance(outcomes: Sequence[Outcome]) -> float | None:
    told = [o for o in outcomes if o.draft_tokens]
    proposed = sum(o.draft_tokens or 0 for o in told)
    return sum(o.accepted_tokens or 0 for o in told) / proposed if proposed else None


def _length(outcomes: Sequence[Outcome]) -> float | None:
    """Tokens a decode step brought, steps without a proposal included."""
    made = [(o.output_tokens - 1, o.accepted_tokens or 0) for o in outcomes
            if o.output_tokens and o.output_tokens > 1 and o.drafts is not None]  # fmt: skip
    steps = sum(tokens - accepted for tokens, accepted in made)
    return sum(tokens for tokens, _ in made) / steps if steps > 0 else None


def _accepted_at(outcomes: Sequence[Outcome]) -> list[float]:
    """Share of the drafts accepted at least up to each position; empty where the engine told no histogram."""
    told = [o.acceptance_histogram for o in outcomes if sum(o.acceptance_histogram)]
    steps = [sum(at) for at in zip_longest(*told, fillvalue=0)]
    return [sum(steps[position:]) / sum(steps) for position in range(1, len(steps))]


def _step_cost(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> float | None:
    """How long a step is, against one of the baseline: as many tokens it has to bring to pay."""
    length, off = _length(ours), _median(o.tpot_s for o in theirs)
    on = _median(o.tpot_s for o in ours)
    return on * length / off if length and off and on else None


def _total(outcomes: Sequence[Outcome], runs: Sequence[Replayed]) -> float | None:
    """Seconds that the requests of one replay took, one after the other."""
    took = [o.e2e_s for o in outcomes if o.e2e_s is not None]
    return sum(took) / len(runs) if took and runs else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _per_position(runs: Sequence[Replayed]) -> list[float]:
    """Accepted at each place / drafts, mean over the replays."""
    told = [positions for r in runs if (positions := r.result["speculative"]["per_position"])]
    return [fmean(at) for at in zip(*told, strict=False)]


def _judged(word: str, ci: Sequence[float] | None) -> str:
    """No difference seen is a reason to turn it off only where the interval has no room for a gain worth having."""
    if word == "faster":
        return KEEP
    if word == "slower" or (word == "no difference seen" and ci and ci[0] > WORTH):
        return OFF
    return OPEN


def _advice(rows: Sequence[Mapping[str, Any]]) -> str:
    """A sentence that names what each group of requests gains or loses."""
    whole, *groups = rows
    parts = []
    for advice in (KEEP, OFF, OPEN):
        named = [_told(row) for row in groups if row["advice"] == advice]
        parts += [f"{advice} for {'; '.join(named)}"] if named else []
    if groups and all(row["advice"] == OFF for row in groups):
        parts = [f"{OFF}: acceptance does not pay in any group ({'; '.join(_told(row) for row in groups)})"]
    cost = ""
    if whole["break_even"] and whole["accepted_length"]:
        cost = (
            f" A step takes x{whole['break_even']:.2f} of one without and brings {whole['accepted_length']:.2f} "
            "tokens: below as many as it costs, it does not pay."
        )
    return f"{'. '.join(parts) or OPEN}.{cost}"


def _told(row: Mapping[str, Any]) -> str:
    ratio = "TPOT unknown" if row["ratio"] is None else f"TPOT x{row['ratio']:.2f}"
    accepted = "acceptance unknown" if row["acceptance"] is None else f"{share(row['acceptance'])} accepted"
    return f"{row['group']} ({ratio}, {accepted})"


def _caveats(found: Mapping[str, Any], whole: Sequence[Replayed]) -> list[str]:
    """What vLLM itself, or vtune, warns of on the arms that speculate and not on the baseline."""
    base = {text for r in whole if r.arm == found["baseline"] for text in r.result["engine"]["warnings"]}
    rows: dict[str, list[str]] = {}
    for replay in whole:
        for text in replay.result["engine"]["warnings"]:
            if text not in base and replay.arm not in rows.setdefault(text, []):
                rows[text].append(replay.arm)
    return [f"warning on {', '.join(arms)}: {text}" for text, arms in rows.items()]
