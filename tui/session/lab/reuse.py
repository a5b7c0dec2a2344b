"""What the prefix experiment found: the warm requests, the cold one, and the control."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tui.session.compare.pairing import Replayed
from tui.session.lab.floor import floor
from tui.session.summary import seconds

TIMES = 10  # a prefix of 4K tokens is worth more than this
_NO_HIT = 0.01  # a chat template may begin with a block of its own


def block(found: Mapping[str, Any], replays: Sequence[Replayed], control: Replayed | None) -> dict[str, Any]:
    """Keys of the lab's block; a `holds` is true, false, or null where it can't be told."""
    whole = [r for r in replays if r.whole]
    off = [r for r in whole if r.arm == found["baseline"]]
    on = [r for r in whole if r.arm != found["baseline"]]
    parts = {"prompt": _prompt(on), "warm": _warm(found, on, off), "cold": _cold(on, off), "control": _control(control)}
    return {**parts, "headline": _headline(parts), "sentences": [part["words"] for part in parts.values()]}


def _headline(parts: Mapping[str, Mapping[str, Any]]) -> str:
    warm, cold, control = parts["warm"], parts["cold"], parts["control"]
    times = warm["times_lower"]
    told = "how much lower warm TTFT is can't be told" if times is None else (
        f"with prefix caching warm TTFT is {times:.1f} times lower ({'' if warm['holds'] else 'not '}at least {TIMES})"
    )  # fmt: skip
    floor_words = {True: "the cold request is within the noise floor", None: "the cold request can't be judged",
                   False: "the cold request is outside the noise floor"}[cold["holds"]]  # fmt: skip
    return f"{told[0].upper()}{told[1:]}, {floor_words}, {_hit(control)}."


def _hit(control: Mapping[str, Any]) -> str:
    if control["holds"] is None:
        return "there is no control"
    if not control["hits"]:
        return "the control has no hits"
    return f"the control has hits ({control['hit_rate']:.1%}{', a template alone has as many' * control['holds']})"


def _prompt(on: Sequence[Replayed]) -> dict[str, Any]:
    """As the engine counted it."""
    outcomes = [o for r in on for o in r.ok.values()]
    tokens = [o.prompt_tokens for o in outcomes if o.prompt_tokens]
    cached = [o.cached_tokens for o in outcomes if o.cached_tokens]
    length = f"{min(tokens):,} to {max(tokens):,}" if tokens else "an unknown number of"
    shared = f"; {max(cached):,} of them were found in the cache" if cached else "; none was found in the cache"
    return {
        "prompt_tokens": [min(tokens), max(tokens)] if tokens else None,
        "cached_tokens": max(cached) if cached else None,
        "words": f"Prompts had {length} tokens{shared}.",
    }


def _warm(found: Mapping[str, Any], on: Sequence[Replayed], off: Sequence[Replayed]) -> dict[str, Any]:
    row = next((v for v in found["verdicts"] if (v["metric"], v["split"]) == ("ttft_s.p50", "warm")), None)
    ids = [i for i, o in (on[0].ok if on else {}).items() if o.reuse == "warm"]
    theirs, ours = (_median([r.ok[i].ttft_s for r in side for i in ids if i in r.ok]) for side in (off, on))
    told = {"n": len(ids), "off_ttft_s": theirs, "on_ttft_s": ours, "times_lower": None, "ci": None, "holds": None}
    if row is None or not row["ratio"] or row["word"] == "too few":
        why = "none was found in the cache" if row is None else row["why"]
        seen = f"TTFT p50 {seconds(theirs)} off, {seconds(ours)} on ({len(ids)} requests); " if ours is not None else ""
        return {**told, "words": f"Warm: {seen}not judged: {why}."}
    times, ci = 1 / row["ratio"], [1 / bound for bound in reversed(row["ci"])]
    holds = times >= TIMES and row["word"] == "faster"
    words = (
        f"Warm: TTFT p50 {seconds(theirs)} off, {seconds(ours)} on, {times:.1f} times lower (95 %: {ci[0]:.1f} to "
        f"{ci[1]:.1f}; {row['word']}; {row['n']} requests, {len(on)} replays an arm). "
        f"At least {TIMES} times lower: {'yes' if holds else 'no'}."
    )
    return {**told, "times_lower": times, "ci": ci, "holds": holds, "words": words}


def _cold(on: Sequence[Replayed], off: Sequence[Replayed]) -> dict[str, Any]:
    """The first request of each replay with caching on, against every request of the off arm: all have its length."""
    firsts = [next(iter(r.ok.values()), None) for r in on]
    cold = [o.ttft_s for o in firsts if o is not None and o.reuse == "cold" and o.ttft_s]
    others = [[o.ttft_s for o in r.ok.values() if o.ttft_s] for r in off]
    beside = [[o.ttft_s for o in r.ok.values() if o.reuse == "warm" and o.ttft_s] for r in on]
    judged = floor(cold, others, beside) if len(cold) == len(on) else None
    same = _median([next(iter(r.ok.values())).ttft_s for r in off if r.ok])
    told = {"n_cold": len(cold), "n_off": sum(map(len, others)), "on_ttft_s": _median(cold),
            "off_ttft_s": _median([t for part in others for t in part]), "off_same_ttft_s": same}  # fmt: skip
    if judged is None:
        words = (
            f"Cold: {seconds(told['on_ttft_s'])} on ({len(cold)} requests), {seconds(told['off_ttft_s'])} off "
            f"({told['n_off']} of the same length); too few to judge."
        )
        return {**told, "ratio": None, "band": None, "holds": None, "words": words}
    low, high = judged.band
    words = (
        f"Cold: the first request of each replay took {seconds(told['on_ttft_s'])} on, requests of the same length "
        f"{seconds(told['off_ttft_s'])} off: x{judged.ratio:.2f} ({judged.n_cold} cold requests against "
        f"{judged.n_others}; the same request off took {seconds(same)}). By noise alone x{low:.2f} to x{high:.2f}: "
        f"{'within' if judged.within else 'outside'} the noise floor of the off arm."
    )
    return {**told, "ratio": judged.ratio, "band": [low, high], "holds": judged.within, "words": words}


def _control(control: Replayed | None) -> dict[str, Any]:
    if control is None or not control.ok:
        return {"n": 0, "hits": None, "queries": None, "hit_rate": None, "ttft_s": None, "holds": None,
                "words": "Control: it was not made, or nothing answered."}  # fmt: skip
    cache = control.result["prefix_cache"]
    rate, hits = cache["hit_rate"], cache["hits"]
    took = _median([o.ttft_s for o in control.ok.values()])
    told = {"n": len(control.ok), "hits": hits, "queries": cache["queries"], "hit_rate": rate, "ttft_s": took,
            "holds": None if rate is None else rate < _NO_HIT}  # fmt: skip
    if rate is None:
        return {**told, "words": "Control: the engine did not tell its hits."}
    said = "no hits" if not hits else f"{hits:,.0f} of {cache['queries']:,.0f} tokens hit ({rate:.1%})"
    expected = "" if told["holds"] else ": the prefix was found all the same, so this comparison is not to be trusted"
    words = (
        f"Control: with a timestamp in front of the same prefix and caching on, {len(control.ok)} requests had {said} "
        f"and a TTFT p50 of {seconds(took)}{expected}."
    )
    return {**told, "words": words}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
