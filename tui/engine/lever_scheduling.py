"""Levers on what a scheduler step holds."""

from collections.abc import Mapping
from typing import Any

from tui.engine import device_defaults, lever_values
from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_reuse import any_when_auto, bool_flag, bool_words, switch_given, text_given
from tui.engine.lever_values import Chunking, human

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


def _chunking_read(read: ReadBack) -> Words | None:
    on = read.config("scheduler_config", "enable_chunked_prefill")
    if on is None:
        return None
    if not on:
        return "off"
    budget = read.config("scheduler_config", "max_num_batched_tokens")
    threshold = read.config("scheduler_config", "long_prefill_token_threshold")
    return Chunking(True, budget, threshold or 0).write()


def _chunking_given(flags: Mapping[str, Any]) -> Words | None:
    """A budget given without chunking is not kept: vtune writes the one that the longest prompt needs."""
    names = ("enable-chunked-prefill", "max-num-batched-tokens", "long-prefill-token-threshold")
    on, budget, threshold = (flags.get(name) for name in names)
    if on is None and budget is None and threshold is None:
        return None
    if on is False:
        return "off"
    return Chunking(True, human(budget) if budget is not None else None, human(threshold or 0)).write()


CHUNKED_PREFILL = Lever(
    name="chunked-prefill",
    title="chunked prefill",
    group="scheduling",
    owns=("enable-chunked-prefill", "max-num-batched-tokens", "long-prefill-token-threshold"),
    parse=lambda words: Chunking.read(words).write(),
    default=lambda around: str(device_defaults.token_budget(around)),
    settle=_settle,
    flags=_chunking_flags,
    read_back=_chunking_read,
    from_flags=_chunking_given,
    least=1,
    unit="tokens",
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
    from_flags=lambda flags: str(human(flags["max-num-seqs"])) if "max-num-seqs" in flags else None,
    kind="number",
    least=1,
    unit="sequences",
    gain="more requests decode together: more tokens per second",
    cost="each waits longer for its next token, and the KV pool fills sooner (preemptions)",
    hint="a number, such as 64",
)

SCHEDULING_POLICY = Lever(
    name="scheduling-policy",
    title="scheduling policy",
    group="scheduling",
    owns=("scheduling-policy",),
    parse=lambda words: lever_values.name("scheduling-policy", words),
    default=lambda around: "fcfs",
    flags=lambda words, around: ["--scheduling-policy", words],
    read_back=lambda read: read.config("scheduler_config", "policy"),
    from_flags=lambda flags: text_given("scheduling-policy", flags),
    kind="choice",
    choices_flag="scheduling-policy",
    gain="priority lets urgent requests (field `priority`, lower first) overtake",
    cost="others wait longer, and may be preempted",
    hint="fcfs | priority",
    toggle=POLICIES,
    choices=POLICIES,
    core=False,
)


def _async_default(around: Surroundings) -> Words:
    """On where nothing forbids it by 0.15 (0.14 was not looked at), never on CPU (vllm.md 1.5)."""
    return "off" if around.cpu or around.before((0, 14)) else "on"


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
    from_flags=lambda flags: switch_given("async-scheduling", flags),
    vllm_default=_async_default,
    kind="switch",
    gain="the next step is scheduled while the device computes: lower TPOT",
    cost="not with n-gram or suffix speculation, which switch it off",
    hint="auto | on | off",
    toggle=("off", "on"),
    choices=("auto", "on", "off"),
    since=(0, 10),
    core=False,
)
