"""Levers on the KV pool."""

from collections.abc import Mapping
from typing import Any

from tui.engine import lever_values
from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_reuse import any_when_auto, text_given

CPU_KV_SPACE = "VLLM_CPU_KVCACHE_SPACE"  # whole GiB; on CPU it wins over --kv-cache-memory-bytes
STARTUP_PLAN = "VLLM_ENABLE_STARTUP_PLAN"  # vLLM 0.28: the measured pool is kept, and taken in later starts
SHARES = ("gpu-memory-utilization", "device-memory-utilization")
CPU_DTYPES = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2")
DTYPES = (*CPU_DTYPES, "bfloat16", "float16")
_GIB = 2**30


def _dtype_note(words: Words, around: Surroundings) -> str | None:
    if not words.startswith("fp8"):
        return None
    return "may cost accuracy without scaling factors" + ("; decode is slower on CPU" if around.cpu else "")


def _same_dtype(asked: Words, applied: Words) -> bool:
    full = {"fp8": "fp8_e4m3"}
    return asked == "auto" or full.get(asked, asked) == full.get(applied, applied)


KV_DTYPE = Lever(
    name="kv-dtype",
    title="KV dtype",
    group="memory",
    owns=("kv-cache-dtype",),
    parse=lambda words: lever_values.name("kv-dtype", words),
    default=lambda around: "auto",
    flags=lambda words, around: ["--kv-cache-dtype", words],
    note=_dtype_note,
    read_back=lambda read: read.cache("cache_dtype"),
    from_flags=lambda flags: text_given("kv-cache-dtype", flags),
    kind="choice",
    choices_flag="kv-cache-dtype",
    matches=_same_dtype,
    gain="fp8 holds twice the tokens in the same memory: more concurrency, longer prefixes kept",
    cost="accuracy, and on some devices slower attention",
    hint=" | ".join(DTYPES),
    toggle=("auto", "fp8"),
    choices=DTYPES,
)


def _block_default(around: Surroundings) -> Words:
    """128 on CPU, else 16; CUDA backends, MLA and hybrid models may choose another (vllm.md 1.8)."""
    return "128" if around.cpu else around.parser_default("block-size") or "16"


BLOCK_SIZE = Lever(
    name="block-size",
    title="block size",
    group="memory",
    owns=("block-size",),
    parse=lambda words: lever_values.count("block-size", words, unset="auto"),
    default=lambda around: "auto",
    flags=lambda words, around: [] if words == "auto" else ["--block-size", words],
    read_back=lambda read: read.cache("block_size"),
    from_flags=lambda flags: text_given("block-size", flags),
    vllm_default=_block_default,
    kind="number",
    least=1,
    unit="tokens",
    matches=any_when_auto,
    gain="small blocks let more of a shared prefix be reused, and waste less of the last block",
    cost="more blocks to hash and look up; attention may be slower",
    hint="auto | 32 | 128",
)


def _pool_settle(words: Words, around: Surroundings) -> Words:
    space = around.env.get(CPU_KV_SPACE, "")
    return lever_values.size(int(space) * _GIB) if around.cpu and space.isdigit() and int(space) else words


def startup_plan(env: Mapping[str, str]) -> bool:
    return env.get(STARTUP_PLAN, "0").strip() not in ("", "0")


def _same_pool(asked: Words, applied: Words) -> bool:
    """A share is the same as a size: an engine that was given a share says a size only where vtune pinned it."""
    return asked in ("auto", applied) or (asked.endswith("%") and not applied.endswith("%"))


def _pool_flags(words: Words, around: Surroundings) -> list[str]:
    if words == "auto" or (around.cpu and around.env.get(CPU_KV_SPACE)):
        return []
    if words.endswith("%"):
        return ["--gpu-memory-utilization", f"{float(words[:-1]) / 100:g}"]
    return ["--kv-cache-memory-bytes", str(lever_values.bytes_of("kv-pool", words))]


def _pool_read(read: ReadBack) -> Words | None:
    fixed, share = read.cache("kv_cache_memory_bytes"), read.cache("gpu_memory_utilization")
    if fixed and fixed.isdigit():
        return lever_values.size(int(fixed))
    try:
        return None if share is None else f"{float(share) * 100:g}%"
    except ValueError:
        return None


def _pool_given(flags: Mapping[str, Any]) -> Words | None:
    if (fixed := flags.get("kv-cache-memory-bytes")) is not None:
        return lever_values.size(lever_values.human(fixed))
    share = next((flags[flag] for flag in SHARES if flag in flags), None)
    return None if share is None else lever_values.pool("kv-pool", f"{float(share) * 100:g}%")


def _pool_default(around: Surroundings) -> Words:
    """A share of the device's memory (of the host's, on CPU): 92 % since 0.21, 90 % before (vllm.md 1.9)."""
    share = around.parser_default(SHARES[0])
    try:
        return f"{float(share) * 100:g}%" if share else "90%" if around.before((0, 21)) else "92%"
    except ValueError:
        return "auto"


KV_POOL = Lever(
    name="kv-pool",
    title="KV pool",
    group="memory",
    owns=("kv-cache-memory-bytes", "gpu-memory-utilization"),
    owns_env=(CPU_KV_SPACE,),
    parse=lambda words: lever_values.pool("kv-pool", words),
    default=lambda around: "auto",
    settle=_pool_settle,
    flags=_pool_flags,
    read_back=_pool_read,
    from_flags=_pool_given,
    vllm_default=_pool_default,
    kind="size",
    least=1,
    unit="bytes, or a share of the device's memory",
    matches=_same_pool,
    gain="a fixed size keeps the pool equal over restarts, so that arms can be compared",
    cost="memory; too small and requests are preempted or refused",
    hint="auto | 2GiB | 90%",
    core=False,
)


def _offload_flags(words: Words, around: Surroundings) -> list[str]:
    if words == "off":
        return []
    gib = lever_values.bytes_of("kv-offload", words) / _GIB
    return ["--kv-offloading-size", f"{gib:g}", "--kv-offloading-backend", "native"]


def _offload_read(read: ReadBack) -> Words | None:
    value = read.cache("kv_offloading_size")
    if value in (None, "None"):
        return None if value is None else "off"
    return lever_values.size(float(value) * _GIB)


def _offload_given(flags: Mapping[str, Any]) -> Words | None:
    """None for another backend than vLLM's own: its flags are kept as they are."""
    if "kv-offloading-size" not in flags or flags.get("kv-offloading-backend", "native") != "native":
        return None
    return lever_values.size(float(flags["kv-offloading-size"]) * _GIB)


KV_OFFLOAD = Lever(
    name="kv-offload",
    title="KV offload",
    group="memory",
    owns=("kv-offloading-size", "kv-offloading-backend"),
    parse=lambda words: lever_values.offload("kv-offload", words),
    default=lambda around: "off",
    flags=_offload_flags,
    read_back=_offload_read,
    from_flags=_offload_given,
    kind="size",
    least=1,
    unit="bytes of the host's memory",
    gain="evicted prefixes are kept in host memory and come back faster than they are computed",
    cost="host memory, and transfers over the bus",
    hint="off | 8GiB",
    since=(0, 12),
    platforms=("cuda", "rocm", "xpu"),
    core=False,
)
