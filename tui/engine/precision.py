"""The data type that the demo model is computed in."""

from tui.engine import device, model
from tui.engine.install import Install
from tui.engine.settings import Profile

DTYPE = "dtype"  # vLLM's flag
_FULL = "float32"


def chosen(profile: Profile, install: Install) -> str | None:
    """float32 where 16 bits are the slow ones and nothing else is asked; None: vLLM's own choice.

    Without AVX-512 vLLM's x86 kernels convert every 16-bit operand: on two Zen 3 cores 2,048 tokens of the bundled
    model took 55 s to prefill in bfloat16, 53 s in float16 and 14 s in float32, at the same TPOT. Only for bundled
    models, for 32 bits take twice the memory and those are small.
    """
    given = DTYPE in profile.engine.args or DTYPE in profile.raw
    if given or install.platform != "cpu" or not model.is_bundled(profile.engine.model):
        return None
    return _FULL if device.slow_at_16_bits() else None
