"""Rules on what a scheduler step holds."""

from tui.engine import device_defaults
from tui.engine.combination import Finding, Rule
from tui.engine.lever import Surroundings
from tui.engine.lever_scheduling import whole_budget
from tui.engine.lever_values import Chunking, Speculation, human

ASYNC_DRAFTS = ("eagle", "eagle3", "mtp", "dflash", "dspark", "draft-model", "ngram-gpu")
"""Speculation under which vLLM 0.32 schedules asynchronously (P/config/vllm.py:1585)."""


def _chunking(around: Surroundings) -> Chunking | None:
    words = around.values.get("chunked-prefill")
    return Chunking.read(words) if words is not None else None


def _raw_number(around: Surroundings, flag: str) -> int | None:
    try:
        return human(around.raw[flag]) if flag in around.raw else None
    except ValueError:
        return None


def _budget_below_length(around: Surroundings) -> Finding | None:
    chunking, budget = _chunking(around), _raw_number(around, "max-num-batched-tokens")
    length = around.max_model_len
    if chunking is None or chunking.on or not budget or not length or budget >= length:
        return None
    return Finding(
        "refused", ("chunked-prefill",),
        f"raw.max-num-batched-tokens={budget}: without chunked prefill a step must hold max-model-len {length}",
        f"give at least {length}, or chunked-prefill={budget}",
    )  # fmt: skip


def _budget_raised(around: Surroundings) -> Finding | None:
    chunking, budget = _chunking(around), whole_budget(around)
    if chunking is None or chunking.on or _ignored(around):
        return None
    if budget is not None and budget <= device_defaults.token_budget(around):
        return None
    to = "to max-model-len" if budget is None else f"from {device_defaults.token_budget(around):,} to {budget:,}"
    return Finding(
        "moved", ("chunked-prefill",), f"chunked-prefill=off: the token budget goes up {to} with it",
    )  # fmt: skip


def _ignored(around: Surroundings) -> bool:
    return around.since((0, 8)) and around.before((0, 12))


def _chunking_ignored(around: Surroundings) -> Finding | None:
    chunking = _chunking(around)
    if chunking is None or chunking.on or not _ignored(around):
        return None
    return Finding(
        "overridden", ("chunked-prefill",),
        f"chunked-prefill=off: vLLM {around.version} ignores this, chunked prefill stays on", "vLLM 0.12 honours it",
    )  # fmt: skip


def _chunking_unsupported(around: Surroundings) -> Finding | None:
    chunking = _chunking(around)
    if chunking is None or chunking.on or _ignored(around):
        return None
    return Finding(
        "caution", ("chunked-prefill",),
        "chunked-prefill=off: vLLM warns that a model may crash or answer wrongly with chunked prefill disabled",
    )  # fmt: skip


def _seqs_lowered(around: Surroundings) -> Finding | None:
    chunking, most = _chunking(around), device_defaults.max_num_seqs(around)
    if "max-num-seqs" in around.given or chunking is None or not chunking.budget or chunking.budget >= most:
        return None
    words = chunking.write()
    return Finding(
        "moved", ("chunked-prefill", "max-num-seqs"),
        f"chunked-prefill={words}: max-num-seqs, which is not set, goes down from {most} to {chunking.budget} with it",
        f"set max-num-seqs in all arms to at most {chunking.budget}", {"max-num-seqs": str(chunking.budget)},
    )  # fmt: skip


def _budget_below_seqs(around: Surroundings) -> Finding | None:
    chunking, seqs = _chunking(around), around.values.get("max-num-seqs")
    if chunking is None or not chunking.budget or seqs is None or int(seqs) <= chunking.budget:
        return None
    return Finding(
        "refused", ("chunked-prefill", "max-num-seqs"),
        f"chunked-prefill={chunking.write()}: the budget is below max-num-seqs={seqs}",
        f"raise the budget to {seqs} or lower max-num-seqs to {chunking.budget}",
    )  # fmt: skip


def _threshold_above_length(around: Surroundings) -> Finding | None:
    chunking, length = _chunking(around), around.max_model_len
    if chunking is None or not length or chunking.threshold <= length:
        return None
    use = f"{chunking.budget}/{length // 2}" if chunking.budget else f"on/{length // 2}"
    return Finding(
        "refused", ("chunked-prefill",),
        f"chunked-prefill={chunking.write()}: the long-prefill threshold is above max-model-len {length}",
        f"use chunked-prefill={use}, or leave the threshold out",
    )  # fmt: skip


def _threshold_idle(around: Surroundings) -> Finding | None:
    chunking = _chunking(around)
    if chunking is None or not chunking.threshold or not chunking.budget or chunking.threshold < chunking.budget:
        return None
    return Finding(
        "caution", ("chunked-prefill",),
        f"chunked-prefill={chunking.write()}: a threshold at or above the budget limits nothing",
    )  # fmt: skip


def _budget_unused(around: Surroundings) -> Finding | None:
    chunking, seqs, length = _chunking(around), around.values.get("max-num-seqs"), around.max_model_len
    if chunking is None or not chunking.budget or not seqs or not length or chunking.budget <= int(seqs) * length:
        return None
    return Finding(
        "caution", ("chunked-prefill", "max-num-seqs"),
        f"chunked-prefill={chunking.write()}: the budget exceeds max-num-seqs x max-model-len, {int(seqs) * length:,}",
    )  # fmt: skip


def _speculation_async(around: Surroundings) -> Finding | None:
    """Not of GPUs from 0.33 on, where only the older model runner has the restriction, which they no longer use.

    A CPU never schedules asynchronously, so `auto` moves nothing there; `on` is refused before that is looked at.
    """
    method = Speculation.read(around.values.get("speculative", "off")).method
    asked = around.values.get("async-scheduling", "auto")
    if method is None or method in ASYNC_DRAFTS or asked == "off":
        return None
    if not (around.gpu and not around.since((0, 33)) or around.cpu and asked == "on"):
        return None
    if asked == "on":
        return Finding(
            "refused", ("async-scheduling", "speculative"), f"async-scheduling=on: not with speculative={method}",
            "use async-scheduling=auto: vLLM switches it off then",
        )  # fmt: skip
    if around.before((0, 14)):  # it was off by default
        return None
    return Finding(
        "moved", ("speculative", "async-scheduling"),
        f"speculative={method}: vLLM switches async scheduling off with {method}, two things change at once",
        "compare with an arm of async-scheduling=off", {"async-scheduling": "off"},
    )  # fmt: skip


def _async_on_cpu(around: Surroundings) -> Finding | None:
    if not around.cpu or around.values.get("async-scheduling") != "on":
        return None
    return Finding(
        "overridden", ("async-scheduling",), "async-scheduling=on: never used on CPU", "use async-scheduling=auto",
        {"async-scheduling": "off"},
    )  # fmt: skip


RULES = (
    Rule("budget-below-length", "vllm.md 1.2: P/config/scheduler.py:314, a ValueError", _budget_below_length),
    Rule("budget-raised", "vllm.md 1.2: P/engine/arg_utils.py:3140", _budget_raised),
    Rule("chunking-ignored", "vllm.md 1.2, history: always on from 0.8.5 to 0.11.0", _chunking_ignored),
    Rule("chunking-unsupported", "vllm.md 1.2: P/engine/arg_utils.py:3005, seen in a log", _chunking_unsupported),
    Rule("seqs-lowered", "vllm.md 1.2: P/engine/arg_utils.py:3178, silently", _seqs_lowered),
    Rule("budget-below-seqs", "vllm.md 1.2: P/config/scheduler.py:314, both set by hand", _budget_below_seqs),
    Rule("threshold-above-length", "vllm.md 1.2: P/config/scheduler.py:360", _threshold_above_length),
    Rule("threshold-idle", "vllm.md 1.2: P/v1/core/sched/scheduler.py:640", _threshold_idle),
    Rule("budget-unused", "vllm.md 1.2: a warning of SchedulerConfig", _budget_unused),
    Rule("speculation-async", "vllm.md 1.5: P/config/vllm.py:1585, seen in a log", _speculation_async),
    Rule("async-on-cpu", "vllm.md 1.5: P/platforms/cpu.py:331, silently", _async_on_cpu),
)
