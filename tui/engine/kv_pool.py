"""The KV pool that an engine made of its share of a GPU, so that the next arms get the same.

An engine that is given a share (``--gpu-memory-utilization``) measures what is left of it for the pool, and comes to
another size with every token budget or CUDA graph: then two arms differ in more than their lever.
Not run on a GPU so far; the texts are those of vLLM 0.32's sources.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from tui.engine import argv
from tui.engine.launch import Launch

PINNED = "raw.kv-cache-memory-bytes"  # among what is asked of a launch whose pool vtune pinned
_FLAG = "kv-cache-memory-bytes"
_MIB = 2**20
_NO_WEIGHTS = ("ngram", "ngram_gpu", "suffix")

# One line of each worker, only where no size was given (P/v1/worker/gpu_worker.py:1013).
_IN_USE = re.compile(r"Current kv cache memory in use is (\d+(?:\.\d+)?) (GiB|bytes)")
_PROPOSED = re.compile(r"Replace gpu_memory_utilization config with `--kv-cache-memory=(\d+)`")

# What else lies in the GPU's memory: the pool of an arm that differs in these is another one by right, and pinning
# it could leave no room for them.
_BESIDE = (
    *("model", "revision", "dtype", "quantization", "max-model-len", "hf-overrides", "enable-lora", "lora-modules"),
    *("gpu-memory-utilization", "device-memory-utilization", "cpu-offload-gb", "enable-sleep-mode"),
    *("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "enable-expert-parallel"),
    *("enforce-eager", "no-enforce-eager", "optimization-level", "compilation-config", "spec-method", "spec-model"),
)


def told(lines: Iterable[str]) -> int | None:
    """Bytes per GPU of the pool that a log tells, of the GPU that has least; None where no line tells.

    What is in use is the pool of this engine, in hundredths of a GiB. The size that vLLM proposes instead is some
    150 MiB smaller, a buffer of its own; it is taken where an engine does not say the other.
    """
    in_use, proposed = [], []
    for line in lines:
        if match := _IN_USE.search(line):
            in_use.append(int(float(match[1]) * (2**30 if match[2] == "GiB" else 1)))
        elif match := _PROPOSED.search(line):
            proposed.append(int(match[1]))
    smallest = min(in_use or proposed, default=0)
    return smallest // _MIB * _MIB or None


def kind(launch: Launch) -> tuple[object, ...] | None:
    """Launches of one kind may share a pool; None where it is not vtune's to pin: on a CPU, or sized by hand."""
    flags = argv.flags(launch.argv)
    sized = any(flag.startswith(("kv-cache-memory", "num-gpu-blocks-override")) for flag in flags)
    if not launch.pin_pool or not launch.on_gpu or sized:
        return None
    beside = tuple((flag, flags[flag]) for flag in _BESIDE if flag in flags)
    return launch.python, argv.model(launch.argv), launch.env.get("CUDA_VISIBLE_DEVICES"), _draft(flags), beside


def _draft(flags: dict[str, tuple[str, ...]]) -> str | None:
    """The speculation that has weights of its own."""
    words = " ".join(flags.get("speculative-config", ()))
    try:
        method = json.loads(words).get("method")
    except (ValueError, AttributeError):
        method = None
    return None if not words or method in _NO_WEIGHTS else words


def pinned(launch: Launch, size: int) -> Launch:
    """`launch` with a pool of `size` bytes per GPU; it wins over any share."""
    return replace(launch, argv=(*launch.argv, f"--{_FLAG}", str(size)), asked={**launch.asked, PINNED: str(size)})
