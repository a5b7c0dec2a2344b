"""Rules on the KV pool and on how prefixes are kept in it."""

from tui.engine.combination import Finding, Rule
from tui.engine.lever import Surroundings
from tui.engine.lever_memory import CPU_DTYPES, STARTUP_PLAN, startup_plan

_HASH_PACKAGES = {"xxhash": ("xxhash",), "xxhash_cbor": ("xxhash", "cbor2"), "sha256_cbor": ("cbor2",)}


def _block_on_cpu(around: Surroundings) -> Finding | None:
    words = around.values.get("block-size", "auto")
    if not around.cpu or words == "auto" or int(words) % 32 == 0:
        return None
    near = max(32, round(int(words) / 32) * 32)
    return Finding(
        "refused", ("block-size",), f"block-size={words}: on CPU a KV block is a multiple of 32 tokens",
        f"use block-size={near}",
    )  # fmt: skip


def _block_backend(around: Surroundings) -> Finding | None:
    words = around.values.get("block-size", "auto")
    if words == "auto" or not around.gpu:
        return None
    return Finding(
        "caution", ("block-size",),
        f"block-size={words}: a size that the attention backend lacks switches the backend, and other kernels run",
        "look for 'attention backend' in the engine's log",
    )  # fmt: skip


def _dtype_on_cpu(around: Surroundings) -> Finding | None:
    words = around.values.get("kv-dtype", "auto")
    if not around.cpu or words in CPU_DTYPES:
        return None
    return Finding(
        "refused", ("kv-dtype",), f"kv-dtype={words}: vLLM has no such KV cache on CPU",
        f"use one of {', '.join(CPU_DTYPES)}",
    )  # fmt: skip


def _fp8_on_cpu(around: Surroundings) -> Finding | None:
    words = around.values.get("kv-dtype", "auto")
    if not around.cpu or around.avx512 is not False or not words.startswith("fp8"):
        return None
    return Finding(
        "refused", ("kv-dtype",), f"kv-dtype={words}: on a CPU vLLM needs AVX-512 or AMX for it, which this one lacks",
        "use kv-dtype=auto, and kv-pool for more room",
    )  # fmt: skip


def _dtype_backend(around: Surroundings) -> Finding | None:
    words = around.values.get("kv-dtype", "auto")
    if words in ("auto", "float16", "bfloat16") or not around.gpu:
        return None
    return Finding(
        "caution", ("kv-dtype",),
        f"kv-dtype={words}: where the attention backend lacks it vLLM switches the backend, two things change at once",
        "look for 'attention backend' in the engine's log",
    )  # fmt: skip


def _dtype_of_model(around: Surroundings) -> Finding | None:
    words = around.values.get("kv-dtype", "auto")
    facts = around.facts_of(around.model) if around.model else None
    own = str((facts or {}).get("dtype") or (facts or {}).get("torch_dtype") or "").removeprefix("torch.")
    asked = around.raw.get("dtype", "auto")
    own = own if asked == "auto" else {"half": "float16"}.get(asked, asked)
    if words not in ("float16", "bfloat16") or own not in ("float16", "bfloat16") or own == words:
        return None
    if not around.since((0, 33)):
        return None
    return Finding(
        "refused", ("kv-dtype",), f"kv-dtype={words}: from vLLM 0.33 on it must be the model's own, {own}",
        f"use kv-dtype=auto or kv-dtype={own}",
    )  # fmt: skip


def _share_with_plan(around: Surroundings) -> Finding | None:
    """A plan's fingerprint leaves the share out: a changed one gets the pool of an earlier start."""
    words = around.values.get("kv-pool", "auto")
    if not words.endswith("%") or not startup_plan(around.env) or around.cpu:
        return None
    return Finding(
        "refused", ("kv-pool",), f"kv-pool={words}: with {STARTUP_PLAN} vLLM would take the pool of an earlier share",
        f"use kv-pool=8GiB (a size), or drop {STARTUP_PLAN}",
    )  # fmt: skip


def _offload_on_cpu(around: Surroundings) -> Finding | None:
    words = around.values.get("kv-offload", "off")
    if words == "off" or not around.cpu:
        return None
    return Finding(
        "refused", ("kv-offload",), f"kv-offload={words}: a CPU engine has its KV pool in host memory already",
        "use kv-offload=off",
    )  # fmt: skip


def _offload_segments(around: Surroundings) -> Finding | None:
    words, setting = around.values.get("kv-offload", "off"), around.env.get("PYTORCH_CUDA_ALLOC_CONF", "")
    if words == "off" or "expandable_segments:true" not in setting.replace(" ", "").lower():
        return None
    return Finding(
        "refused", ("kv-offload",), f"kv-offload={words}: not with expandable_segments in PYTORCH_CUDA_ALLOC_CONF",
        "take it out of the environment",
    )  # fmt: skip


def _hash_package(around: Surroundings) -> Finding | None:
    words = around.values.get("prefix-hash", "sha256")
    if around.packages is None or around.values.get("prefix-caching") == "off":
        return None
    missing = [package for package in _HASH_PACKAGES.get(words, ()) if package not in around.packages]
    if not missing:
        return None
    return Finding(
        "refused", ("prefix-hash",), f"prefix-hash={words}: needs the package {missing[0]}",
        f"pip install {' '.join(missing)} into the engine's environment",
    )  # fmt: skip


RULES = (
    Rule("block-on-cpu", "vllm.md 1.8: P/v1/worker/utils.py:515, fails after the weights, seen", _block_on_cpu),
    Rule("block-backend", "vllm.md 1.8: P/platforms/cuda.py:496", _block_backend),
    Rule("dtype-on-cpu", "vllm.md 1.7: P/v1/attention/backends/cpu_attn.py:57", _dtype_on_cpu),
    Rule("fp8-on-cpu", "vllm.md 1.7: P/v1/attention/backends/cpu_attn.py:540, seen", _fp8_on_cpu),
    Rule("dtype-backend", "vllm.md 1.7: P/platforms/cuda.py:506", _dtype_backend),
    Rule("dtype-of-model", "vllm.md 1.7: S/0.33.0/config/vllm.py:1491", _dtype_of_model),
    Rule("share-with-plan", "vllm.md 5.2: P/v1/worker/startup_plan.py:46, P/config/cache.py:288", _share_with_plan),
    Rule("offload-on-cpu", "vllm.md 1.10: CUDA, ROCm and XPU only", _offload_on_cpu),
    Rule("offload-segments", "vllm.md 1.10: P/config/vllm.py:1225", _offload_segments),
    Rule("hash-package", "help of --prefix-caching-hash-algo: xxhash is optional; P/utils/hashing.py", _hash_package),
)
