"""Rules on speculative decoding."""

from collections.abc import Mapping
from typing import Any

from tui.engine import kv_size
from tui.engine.combination import Finding, Rule
from tui.engine.lever import Surroundings, Version
from tui.engine.lever_values import Speculation

SINCE: Mapping[str, Version] = {
    "ngram": (0, 8, 5),
    "eagle": (0, 8, 5),
    "suffix": (0, 12),
    "draft-model": (0, 14),
    "ngram-gpu": (0, 19),
    "dspark": (0, 25),
}
"""First version whose V1 engine has the method (vllm.md 1.6; draft models came between 0.13 and 0.15.1)."""
GONE: Mapping[str, Version] = {"medusa": (0, 33), "mlp-speculator": (0, 33)}
OLD_RUNNER = ("suffix", "medusa", "mlp-speculator")


def _asked(around: Surroundings) -> Speculation:
    return Speculation.read(around.values.get("speculative", "off"))


def short(version: Version) -> str:
    return ".".join(str(part) for part in version)


def _method_missing(around: Surroundings) -> Finding | None:
    method = _asked(around).method
    if method is None:
        return None
    here = short((around.version_tuple or ())[:2])
    if method in GONE and around.since(GONE[method]):
        reason = f"gone since vLLM {short(GONE[method])}, this is {here}"
    elif method in SINCE and around.before(SINCE[method]):
        reason = f"needs vLLM {short(SINCE[method])}, this is {here}"
    elif (known := methods(around)) and method not in known:
        reason = "this vLLM has no such method"
    else:
        return None
    return Finding("refused", ("speculative",), f"speculative={method}: {reason}", "use speculative=ngram, or off")


def methods(around: Surroundings) -> tuple[str, ...]:
    """The methods that this vLLM's parser takes, in our words; empty where it does not say."""
    flag = around.flags.get("spec-method") if around.flags is not None else None
    return tuple(name.replace("_", "-") for name in flag.choices if name != "None") if flag else ()


def _gpu_only(around: Surroundings) -> Finding | None:
    if _asked(around).method != "ngram-gpu" or not around.cpu:
        return None
    return Finding("refused", ("speculative",), "speculative=ngram-gpu: needs a GPU", "use speculative=ngram")


def _suffix_package(around: Surroundings) -> Finding | None:
    if _asked(around).method != "suffix" or around.packages is None or "arctic-inference" in around.packages:
        return None
    return Finding(
        "refused", ("speculative",), "speculative=suffix: needs the package arctic-inference",
        "pip install arctic-inference==0.1.1 into the engine's environment",
    )  # fmt: skip


def _old_runner(around: Surroundings) -> Finding | None:
    method = _asked(around).method
    if method not in OLD_RUNNER or not around.gpu or around.before((0, 23)):
        return None
    return Finding(
        "moved", ("speculative",), f"speculative={method}: the whole engine falls back to the older model runner (V1)",
        "its steps are timed otherwise: a gain is not the method's alone",
    )  # fmt: skip


def _facts(around: Surroundings) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """config.json of draft and target; None without a draft model, or where one of them is not on this machine."""
    spec = _asked(around)
    if spec.method != "draft-model" or not spec.model or not around.model:
        return None
    draft, target = around.facts_of(spec.model), around.facts_of(around.model)
    return (draft, target) if draft and target else None


def _draft_vocabulary(around: Surroundings) -> Finding | None:
    facts, spec = _facts(around), _asked(around)
    if facts is None or ("use_heterogeneous_vocab", "true") in spec.options:
        return None
    sizes = [config.get("vocab_size") for config in facts]
    if None in sizes or sizes[0] == sizes[1]:
        return None
    return Finding(
        "refused", ("speculative",),
        f"speculative=draft-model: its vocabulary has {sizes[0]} words, the target's {sizes[1]}",
        "use a draft of the same family",
    )  # fmt: skip


def _draft_context(around: Surroundings) -> Finding | None:
    facts = _facts(around)
    own = facts[0].get("max_position_embeddings") if facts else None
    if not isinstance(own, int) or not around.max_model_len or own >= around.max_model_len:
        return None
    if around.since((0, 33)) and around.gpu:
        return Finding(
            "overridden", ("speculative",),
            f"speculative=draft-model: vLLM lowers the whole server's max-model-len to the draft's {own}",
            "use a draft with a longer context",
        )  # fmt: skip
    return Finding(
        "caution", ("speculative",),
        f"speculative=draft-model: the draft knows {own} positions, max-model-len is {around.max_model_len}",
    )  # fmt: skip


def _draft_kv(around: Surroundings) -> Finding | None:
    """Bytes a token of both models; 38,784 of 46,592 tokens were seen with the bundled draft, 5/6 by its layers."""
    spec = _asked(around)
    if spec.method != "draft-model":
        return None
    own = kv_size.token_bytes(around.model) if around.model else None
    more = kv_size.token_bytes(spec.model) if spec.model else None
    much = f"about {more / (own + more):.0%} fewer tokens fit" if own and more else "fewer tokens fit"
    return Finding(
        "moved", ("speculative", "kv-pool"),
        f"speculative=draft-model: the draft's KV comes out of the same pool, {much}",
    )  # fmt: skip


def _last_block(around: Surroundings) -> Finding | None:
    method = _asked(around).method
    if method not in ("eagle", "eagle3", "mtp", "dflash", "dspark") or around.since((0, 33)):
        return None
    if around.values.get("prefix-caching") == "off":
        return None
    return Finding(
        "moved", ("speculative", "prefix-caching"),
        f"speculative={method}: the last matched block of a prefix is computed again, fewer tokens count as cached",
    )  # fmt: skip


def _request_limits(around: Surroundings) -> Finding | None:
    if _asked(around).method is None:
        return None
    return Finding(
        "caution", ("speculative",),
        "speculative: requests with min_p or logit_bias are answered with 400 while speculation is on",
    )  # fmt: skip


def _sampled_on_cpu(around: Surroundings) -> Finding | None:
    """Seen on 0.32 alone: after a refused guess the token that is drawn in its place is any word of the vocabulary."""
    if _asked(around).method is None or not around.cpu or not (around.since((0, 32)) and around.before((0, 33))):
        return None
    return Finding(
        "caution", ("speculative",),
        "speculative: on a CPU vLLM 0.32 breaks sampled answers (temperature above 0) where it refuses a guess",
        "greedy answers stay; vtune compare checks yours",
    )  # fmt: skip


RULES = (
    Rule("method-missing", "vllm.md 1.6, history, and 10: medusa and mlp_speculator are gone in 0.33", _method_missing),
    Rule("gpu-only", "vllm.md 1.6: ngram_gpu runs on the device", _gpu_only),
    Rule("suffix-package", "vllm.md 1.6: P/config/speculative.py:1597, an ImportError", _suffix_package),
    Rule("old-runner", "vllm.md 1.6: P/config/vllm.py:2914", _old_runner),
    Rule("draft-vocabulary", "vllm.md 1.6: P/config/speculative.py:1868, a ValueError since 0.15.1", _draft_vocabulary),
    Rule("draft-context", "vllm.md 1.6: S/0.33.0/config/vllm.py:3024, only a warning", _draft_context),
    Rule("draft-kv", "vllm.md 1.6: 46,592 tokens without, 38,784 with a draft, seen in logs", _draft_kv),
    Rule("last-block", "vllm.md 1.1: P/config/speculative.py:452; lookahead hashes from 0.33 on", _last_block),
    Rule("sampled-on-cpu", "measured: likelihood of answers, with a draft model and with n-grams", _sampled_on_cpu),
    Rule("request-limits", "vllm.md 1.6: P/sampling_params.py:1190, seen in a log", _request_limits),
)
