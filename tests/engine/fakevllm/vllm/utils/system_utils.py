"""vLLM's choice of start method, with the CPU platform's blanket default and one real reason."""

import multiprocessing
import os

if os.environ.get("FAKE_THREAD"):
    import threading

    threading.Thread(target=threading.Event().wait, daemon=True).start()


def _maybe_force_spawn() -> None:
    if os.environ.get("VLLM_WORKER_MULTIPROC_METHOD") != "spawn" and os.environ.get("FAKE_REASON"):
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"


def get_mp_context():
    _maybe_force_spawn()
    return multiprocessing.get_context(os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "fork"))
