"""A server in vLLM's place: tells what it is, starts a worker the way vLLM chooses, and answers."""

import json
import os
import sys
import time

from vllm.utils.system_utils import get_mp_context


def work() -> None:
    print("worker", os.environ.get("VTUNE_LAUNCH"), os.getpid(), flush=True)
    time.sleep(600)


def main() -> None:
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")  # as P/platforms/cpu.py:409 does
    context = get_mp_context()
    told = {
        "argv": sys.argv,
        "env": {name: value for name, value in os.environ.items() if name.startswith(("FAKE", "VTUNE_LAUNCH"))},
        "method": context.get_start_method(),
        "blanket": os.environ["VLLM_WORKER_MULTIPROC_METHOD"],
        "session": os.getsid(0) == os.getpid(),
        "main": sys.modules["__main__"].__spec__.name,
        "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd")),
    }
    print(json.dumps(told), flush=True)
    if "--fail" in sys.argv:
        raise ValueError("No common block size for 16 (CPU_ATTN: [MultipleOf(32)]).")
    if "--exit" in sys.argv:
        sys.exit(3)
    if "--hang" in sys.argv and context.get_start_method() == "fork":
        time.sleep(600)
    context.Process(target=work, daemon=True).start()
    from answering import main as answer

    answer("ok", int(sys.argv[sys.argv.index("--port") + 1]))


if __name__ == "__main__":
    main()
