"""Rules on devices, weights and flags that win over levers."""

from tui.engine import lever_memory, lever_reuse, lever_scheduling, lever_speculation
from tui.engine.combination import Finding, Rule
from tui.engine.lever import Surroundings
from tui.engine.lever_kernel import quantization_of
from tui.engine.lever_values import LEVELS


def _too_few_gpus(around: Surroundings) -> Finding | None:
    tensor, data = (int(around.values.get(f"{kind}-parallel", "1")) for kind in ("tensor", "data"))
    elsewhere = around.raw.keys() & {"distributed-executor-backend", "nnodes", "data-parallel-size-local"}
    if not around.gpu or not around.gpus or tensor * data <= around.gpus or elsewhere:
        return None
    lever = "tensor-parallel" if tensor > 1 else "data-parallel"
    return Finding(
        "refused", (lever,), f"{lever}={tensor if tensor > 1 else data}: {tensor * data} GPUs are asked for, "
        f"this machine has {around.gpus}", f"use {lever}=1, or a machine with more",
    )  # fmt: skip


def _own_caches(around: Surroundings) -> Finding | None:
    count = around.values.get("data-parallel", "1")
    if count == "1":
        return None
    return Finding(
        "moved", ("data-parallel", "prefix-caching"),
        f"data-parallel={count}: each engine has its own prefix cache and KV pool, hits depend on who serves a request",
    )  # fmt: skip


def _quantized_otherwise(around: Surroundings) -> Finding | None:
    words = around.values.get("quantization", "auto")
    own = quantization_of(around.facts_of(around.model)) if around.model else None
    if words == "auto" or own in (None, "none") or words.split("_")[0] == str(own).split("_")[0]:
        return None
    return Finding(
        "caution", ("quantization",),
        f"quantization={words}: the checkpoint says {own}, vLLM refuses a method that does not match",
        "use quantization=auto",
    )  # fmt: skip


def _level_missing(around: Surroundings) -> Finding | None:
    words = around.values.get("eager", "off")
    lacks = around.flags is not None and "optimization-level" not in around.flags
    if words not in LEVELS or not (around.before((0, 12)) or lacks):
        return None
    here = ".".join(str(part) for part in (around.version_tuple or ())[:2]) or "another"
    return Finding(
        "refused", ("eager",), f"eager={words}: needs vLLM 0.12, this is {here}", "use eager=on or eager=off"
    )


def _unknown_choice(around: Surroundings) -> Finding | None:
    """Of the levers whose values are the parser's own choices; `auto` leaves the flag out."""
    if around.flags is None:
        return None
    for lever, name in (("prefix-hash", "prefix-caching-hash-algo"), ("kv-dtype", "kv-cache-dtype"),
                        ("scheduling-policy", "scheduling-policy"), ("quantization", "quantization")):  # fmt: skip
        words, flag = around.values.get(lever), around.flags.get(name)
        if words in (None, "auto") or flag is None or not flag.choices or words in flag.choices:
            continue
        known = ", ".join(choice for choice in flag.choices if choice != "None")
        return Finding("refused", (lever,), f"{lever}={words}: this vLLM has no such value", f"it has {known}")
    return None


def _raw_wins(around: Surroundings) -> Finding | None:
    """--set raw.FLAG of a flag that a lever owns: it comes last, and vLLM takes the last."""
    for lever, flags in _OWNED.items():
        over = next((flag for flag in flags if flag in around.raw), None)
        if over is not None and lever in around.given - around.apart:
            what = f"raw.{over}={around.raw[over]}: wins over {lever}={around.values[lever]}"
            return Finding("overridden", (lever,), what)
    return None


_OWNED = {
    lever.name: lever.owns
    for lever in (
        *(lever_reuse.PREFIX_CACHING, lever_reuse.PREFIX_HASH),
        *(lever_scheduling.CHUNKED_PREFILL, lever_scheduling.MAX_NUM_SEQS, lever_scheduling.SCHEDULING_POLICY),
        *(lever_memory.KV_DTYPE, lever_memory.BLOCK_SIZE, lever_memory.KV_POOL, lever_memory.KV_OFFLOAD),
        lever_speculation.SPECULATIVE,
    )
}

RULES = (
    Rule("too-few-gpus", "vllm.md 1.11: P/config/parallel.py:1053", _too_few_gpus),
    Rule("own-caches", "vllm.md 1.11 and 3.5: one engine per rank, each with its own labels", _own_caches),
    Rule("quantized-otherwise", "vllm.md 1.11: P/config/model.py:1440", _quantized_otherwise),
    Rule("level-missing", "vllm.md 1.4: --optimization-level since 0.12", _level_missing),
    Rule("raw-wins", "vllm.md 1.0: of duplicate flags the last wins, seen in a log", _raw_wins),
    Rule("unknown-choice", "vllm.md 1.0: the choices of this install's own parser", _unknown_choice),
)
