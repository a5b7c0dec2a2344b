"""A machine with a GPU, made of scripts: nvidia-smi on PATH, and an interpreter that has a vLLM for CUDA.

Nothing here runs on a GPU; the log lines are those of vLLM 0.32's sources, filled in.
"""

import json
import sys
from pathlib import Path
from typing import Any

from standin.fixture import INTERPRETER

MIB = 1 << 20

# vllm/v1/worker/gpu_worker.py:1013, after vLLM's prefix.
PROPOSAL = (
    "(EngineCore pid=77) INFO 11-29 18:00:00 [gpu_worker.py:1034] Free memory on device (78.76/79.19 GiB) on startup. "
    "Desired GPU memory utilization is (0.92, 72.85 GiB). Actual usage is 15.52 GiB for consumed memory (weights + "
    "non-torch), 1.27 GiB for peak activation, and 0.61 GiB for CUDAGraph memory. Replace gpu_memory_utilization "
    "config with `--kv-cache-memory=59377713971` (55.3 GiB) to fit into requested memory, or "
    "`--kv-cache-memory=65723408998` (61.21 GiB) to fully utilize gpu memory. Current kv cache memory in use is "
    "55.45 GiB."
)
# vllm/entrypoints/cli/preload.py:322
READY = (
    "INFO 11-29 18:00:00 [preload.py:321] ===== Weight cache daemon READY: node 0/1 serving 1 local rank(s) x "
    "1 role(s) in the default socket dir ====="
)
# A daemon's process as multiprocessing reports it, vllm/model_executor/model_loader/weight_cache/protocol.py:110,
# and its parent, vllm/entrypoints/cli/preload.py:297.
UNSUPPORTED = """Process vllm-weight-cache-target-0:
Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/vllm/model_executor/model_loader/weight_cache/daemon.py", line 497, in _run_daemon
    daemon.load_model()
vllm.model_executor.model_loader.weight_cache.protocol.UnsupportedQuantForIPCError: layer model.layers.0.self_attn.qkv_proj: AWQMarlinLinearMethod does not support loading from pre-processed weights.
ERROR 11-29 18:00:00 [preload.py:297] Weight cache daemon rank(s) exited during startup (exitcodes=[1]); shutting down."""  # noqa: E501
# vllm/model_executor/model_loader/weight_cache/ipc_loader.py:217, 429
UNUSABLE = (
    "Weight cache unusable (Cannot connect to weight cache daemon at /tmp/vtune-x/gpu0.sock: [Errno 111] Connection "
    "refused); falling back to disk loading"
)

# The form of torch's own text, P/v1/worker/gpu_worker.py around it made up.
FULL = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/vllm/v1/worker/gpu_worker.py", line 961, in compile_or_warm_up_model
    cuda_graph_memory_bytes = self.model_runner.capture_model()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 79.19 GiB of which 816.94 MiB is free."""  # noqa: E501

_SMI = """#!{python}
import json, sys
from pathlib import Path
file = Path({state!r})
state = json.loads(file.read_text())
if "memory.total,driver" in sys.argv[1]:
    print("NVIDIA H100 80GB HBM3, 81559, 550.54.15\\n" * state["gpus"], end="")
elif "query-gpu" in sys.argv[1]:
    print(f"0, {{state['used'][0]}}, 81559, 0, NVIDIA H100 80GB HBM3")
    if len(state["used"]) > 1:
        state["used"].pop(0)
        file.write_text(json.dumps(state))
else:
    for pid, mib, name in state["apps"]:
        print(f"{{pid}}, {{mib}}, {{name}}")
"""

_PYTHON = """#!{python}
import os, signal, sys
args = sys.argv[1:]
own = {own!r}
def say(text):
    print(text, file=sys.stderr, flush=True)
if args[:3] == ["-m", "vllm.entrypoints.cli.main", "preload"]:
    if "GPU_PRELOAD_FAILS" in os.environ:
        say({unsupported!r})
        sys.exit(1)
    say({ready!r})
    signal.pause()
if args[:3] == ["-m", "vllm.entrypoints.cli.main", "serve"] and not any(w.startswith("--help") for w in args):
    if not any(word.startswith("--kv-cache-memory") for word in args):
        say({proposal!r})
    elif "GPU_FULL" in os.environ:
        say({full!r})
        sys.exit(1)
    if "ipc_cache" in args and "GPU_UNUSABLE" in os.environ:
        say("(EngineCore pid=77) WARNING 11-29 18:00:00 [ipc_loader.py:217] " + {unusable!r})
os.environ["PYTHONPATH"] = own
os.execv({standin!r}, [{standin!r}, *args])
"""


class MadeGpu:
    """`used` in MiB, one a look, the last one for ever; `apps` are (pid, MiB, name)."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "gpu-bin"
        self.bin.mkdir()
        self._state = folder / "gpu.json"
        self.gpus = 1
        self.set(1000)
        shown = folder / "gpu-vllm" / "vllm-0.32.0.dist-info"
        shown.mkdir(parents=True)
        (shown / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0\n")
        texts = {"ready": READY, "unsupported": UNSUPPORTED, "proposal": PROPOSAL, "unusable": UNUSABLE, "full": FULL}
        python = _PYTHON.format(python=sys.executable, own=str(shown.parent), standin=INTERPRETER, **texts)
        self._script("nvidia-smi", _SMI.format(python=sys.executable, state=str(self._state)))
        self.python = self._script("python", python)

    def set(self, *used: int, apps: list[tuple[int, Any, str]] = ()) -> None:
        whole = self._state.with_suffix(".new")
        whole.write_text(json.dumps({"used": used, "apps": list(apps), "gpus": self.gpus}))
        whole.replace(self._state)

    def _script(self, name: str, text: str) -> str:
        file = self.bin / name
        file.write_text(text)
        file.chmod(0o755)
        return str(file)
