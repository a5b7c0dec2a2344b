"""Replays of a lab with times that are given, and what the lab makes of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from made_replays import result

from tui.session.compare import comparison
from tui.session.compare.pairing import Replayed
from tui.session.lab import with_lab
from tui.traffic.outcome import Outcome


def answer(id: str, ttft: float, tpot: float = 0.03, tokens: int = 16, **more: Any) -> Outcome:
    decode = tpot * (tokens - 1)
    known: dict[str, Any] = {"prompt_tokens": 4200, "cached_tokens": 0, "output_tokens": tokens}
    return Outcome(id, more.pop("group", None), "ok", 0.0, 0.0, ttft_s=ttft, e2e_s=ttft + decode, decode_s=decode,
                   **{**known, **more})  # fmt: skip


def replay(number: int, arm: str, outcomes: Iterable[Outcome], whole: bool = True, **blocks: Any) -> Replayed:
    speed = {"prompt_tokens_per_s": 400.0, "output_tokens_per_s": 20.0}
    told = result(**{"throughput": speed, **blocks})
    told["engine"] = {"vllm": "0.32.0", "warnings": [], **told["engine"]}
    return Replayed.of(number, arm, 1, outcomes, told, whole)


def found(
    study: str, lever: str, values: list[str], replays: list[Replayed], control: Replayed | None = None,
    checked: dict[str, Any] | None = None, verdicts: list[dict[str, Any]] | None = None, **event: Any,
) -> dict[str, Any]:  # fmt: skip
    """The vtune.comparison/1 object of one mirrored round; arms are named by their value.

    With `verdicts` (see `verdict`) nothing is computed but the lab's own: the statistics take their time.
    """
    plan = {
        "vary": [f"{lever}={','.join(values)}"],
        "arms": [{"name": value, "settings": [f"{lever}={value}"]} for value in values],
        "baseline": values[0], "rounds": 1, "order": [*values, *reversed(values)], "seed": 0, "start": "plain",
        "fix_lengths": False,
    }  # fmt: skip
    told: Mapping[str, Any] = {
        "study": study, "scale": 1.0, "asked": False, "cut": False, "notes": "Made up.", "estimate_s": 300,
        "requests": 8,
        "control": {"label": "control", "sha256": "", "requests": 4} if study == "prefix" else None, **event,
    }  # fmt: skip
    if verdicts is None:
        compared = comparison(plan, replays)
    else:
        arms = [{"name": value, "levers": {lever: value}} for value in values]
        compared = {"arms": arms, "baseline": values[0], "verdicts": verdicts, "caveats": []}
    return with_lab({**compared, "output_check": checked}, told, replays, control)


def verdict(arm: str, metric: str, split: str, word: str, ratio: float, low: float, high: float, n: int = 8) -> dict:
    return {"arm": arm, "metric": metric, "split": split, "word": word, "ratio": ratio, "ci": [low, high], "n": n,
            "why": ""}  # fmt: skip
