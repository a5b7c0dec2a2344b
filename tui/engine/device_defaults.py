"""What vLLM would choose by itself for a device; vtune writes it out, so that every arm says what it runs.

Source: `EngineArgs.get_batch_defaults` of vLLM 0.32 (values of the API server); where older and newer versions
are known to draw the lines elsewhere, vllm.md 1.2.
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
    memory, name = around.device_memory or 0, (around.device or "").lower()
    if memory >= 160 * _GIB and not around.before((0, 28)):
        return 16384, 1024
    small = ("a100" in name and not around.before((0, 10))) or ("gb10" in name and around.since((0, 33)))
    return (8192, 1024) if memory >= 70 * _GIB and not small else (2048, 256)
