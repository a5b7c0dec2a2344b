"""What vLLM would choose by itself for a device; vtune writes it out, so that every arm says what it runs.

Source: `EngineArgs.get_batch_defaults` of vLLM 0.32 (values of the API server).
"""

from tui.engine.lever import Surroundings

_GIB = 2**30


def token_budget(around: Surroundings) -> int:
    """Tokens per step (`--max-num-batched-tokens`)."""
    return _tier(around)[0]


def max_num_seqs(around: Surroundings) -> int:
    """Sequences per step (`--max-num-seqs`), before a small token budget lowers it."""
    return _tier(around)[1]


def _tier(around: Surroundings) -> tuple[int, int]:
    if around.cpu:
        return 2048, 128
    memory = around.device_memory or 0
    if memory >= 160 * _GIB:
        return 16384, 1024
    if memory >= 70 * _GIB and "a100" not in (around.device or "").lower():
        return 8192, 1024
    return 2048, 256
