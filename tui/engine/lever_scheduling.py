"""Levers on what a scheduler step holds."""

from tui.engine import device_defaults, lever_values
from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_reuse import any_when_auto, bool_flag, bool_words
from tui.engine.lever_values import Chunking
from tui.errors import VtuneError

POLICIES = ("fcfs", "priority")


def whole_budget(around: Surroundings) -> int | None:
    """The token budget without chunking, when a step must hold the longest prompt; None: length unknown."""
    if around.max_model_len is None:
        return None
    return max(around.max_model_len, device_defaults.token_budget(around))


def _settle(words: Words, around: Surroundings) -> Words:
    chunking = Chunking.read(words)
    if not chunking.on or chunking.budget is not None:
        return words
    return Chunking(True, device_defaults.token_budget(around), chunking.threshold).write()


def _chunking_flags(words: Words, around: Surroundings) -> list[str]:
    chunking = Chunking.read(words)
    flags = bool_flag("enable-chunked-prefill", "on" if chunking.on else "off")
    budget = chunking.budget if chunking.on else whole_budget(around)
    if budget is not None:
        flags += ["--max-num-batched-tokens", str(budget)]
    return [*flags, "--long-prefill-token-threshold", str(chunking.threshold)]


def _chunking_check(words: Words, around: Surroundings) -> None:
    """The two combinations that vLLM's SchedulerConfig refuses."""
    chunking = Chunking.read(words)
    seqs = around.values.get("max-num-seqs")
    if chunking.on and chunking.budget and seqs and int(seqs) > chunking.budget:
        raise VtuneError(
            f"chunked-prefill={words}: the budget is below max-num-seqs={seqs}",
            f"raise the budget to {seqs} or lower max-num-seqs to {chunking.budget}",
        )
    if around.max_model_len and chunking.threshold > around.max_model_len:
        raise VtuneError(
            f"chunked-prefill={words}: the long-prefill threshold is above max-model-len {around.max_model_len}",
            f"use chunked-prefill={chunking.budget}/{around.max_model_len // 2}, or leave the threshold out",
        )


def _chunking_note(words: Words, around: Surroundings) -> str | None:
    chunking = Chunking.read(words)
    if not chunking.on:
        budget = whole_budget(around)
        raised = (
            f"the token budget is raised to {budget:,}" if budget else "vLLM raises the token budget to max-model-len"
        )
        if around.version_tuple and (0, 8) <= around.version_tuple < (0, 12):
            return f"vLLM {around.version} ignores this: chunked prefill stays on"
        return f"{raised}; vLLM warns that a model may not support chunked prefill being disabled"
    if chunking.threshold and chunking.budget and chunking.threshold >= chunking.budget:
        return "a threshold at or above the budget limits nothing"
    return None


def _chunking_read(read: ReadBack) -> Words | None:
    on = read.config("scheduler_config", "enable_chunked_prefill")
    if on is None:
        return None
    if not on:
        return "off"
    budget = read.config("scheduler_config", "max_num_batched_tokens")
    threshold = read.config("scheduler_config", "long_prefill_token_threshold")
    return Chunking(True, budget, threshold or 0).write()


CHUNKED_PREFILL = Lever(
    name="chunked-prefill",
    title="chunked prefill",
    group="scheduling",
    owns=("enable-chunked-prefill", "max-num-batched-tokens", "long-prefill-token-threshold"),
    parse=lambda words: Chunking.read(words).write(),
    default=lambda around: str(device_defaults.token_budget(around)),
    settle=_settle,
    flags=_chunking_flags,
    check=_chunking_check,
    note=_chunking_note,
    read_back=_chunking_read,
    gain="short requests are not stuck behind a long prefill: lower tail TTFT, steadier TPOT",
    cost="small budgets make prefill slower; without a threshold one long prefill still takes the whole budget",
    hint="off | 2048 | 512/256 (token budget / long-prefill threshold)",
    toggle=("off", "on"),
)


def _default_seqs(around: Surroundings) -> Words:
    """vLLM lowers its own default to the token budget, silently; here it is written out."""
    most = device_defaults.max_num_seqs(around)
    chunking = Chunking.read(around.values.get("chunked-prefill", "on"))
    return str(min(most, chunking.budget or most))


def _seqs_read(read: ReadBack) -> Words | None:
    value = read.config("scheduler_config", "max_num_seqs")
    return None if value is None else str(value)


MAX_NUM_SEQS = Lever(
    name="max-num-seqs",
    title="max sequences",
    group="scheduling",
    owns=("max-num-seqs",),
    parse=lambda words: lever_values.count("max-num-seqs", words),
    default=_default_seqs,
    flags=lambda words, around: ["--max-num-seqs", words],
    read_back=_seqs_read,
    gain="more requests decode together: more tokens per second",
    cost="each waits longer for its next token, and the KV pool fills sooner (preemptions)",
    hint="a number, such as 64",
)

SCHEDULING_POLICY = Lever(
    name="scheduling-policy",
    title="scheduling policy",
    group="scheduling",
    owns=("scheduling-policy",),
    parse=lambda words: lever_values.name("scheduling-policy", words, POLICIES),
    default=lambda around: "fcfs",
    flags=lambda words, around: ["--scheduling-policy", words],
    read_back=lambda read: read.config("scheduler_config", "policy"),
    gain="priority lets urgent requests (field `priority`, lower first) overtake",
    cost="others wait longer, and may be preempted",
    hint="fcfs | priority",
    toggle=POLICIES,
    choices=POLICIES,
    core=False,
)


def _async_note(words: Words, around: Surroundings) -> str | None:
    return "never used on CPU" if around.cpu and words == "on" else None


ASYNC_SCHEDULING = Lever(
    name="async-scheduling",
    title="async scheduling",
    group="scheduling",
    owns=("async-scheduling",),
    parse=lambda words: "auto" if words.strip() == "auto" else lever_values.switch("async-scheduling", words),
    default=lambda around: "auto",
    flags=lambda words, around: [] if words == "auto" else bool_flag("async-scheduling", words),
    read_back=lambda read: bool_words(read.config("scheduler_config", "async_scheduling")),
    matches=any_when_auto,
    gain="the next step is scheduled while the device computes: lower TPOT",
    cost="not with n-gram or suffix speculation, which switch it off",
    hint="auto | on | off",
    toggle=("off", "on"),
    choices=("auto", "on", "off"),
    note=_async_note,
    since=(0, 10),
    core=False,
)
