"""How exact is the replay's client, and what does it cost? Beside a plain httpx client, in the same run.

Both clients stream from a server of ours that logs when it received each request and wrote its first token
(`truth_server.py`). The error of a client is its TTFT, from sending, minus the server's. The server is pinned to one
core and the client to another. ``python benchmarks/client.py [--json FILE]``.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns
from typing import Any

import httpx
import numpy

from tui.traffic import recording
from tui.traffic.recording import Request
from tui.traffic.replay import Replay, ReplaySpec, read_outcomes

HERE = Path(__file__).resolve().parent
CASES = (  # name, streams, requests, tokens each, TTFT ms, ms between tokens
    ("saturated", 64, 640, 128, 0.0, 0.0),
    ("paced", 1, 20, 64, 50.0, 10.0),
    ("paced", 32, 320, 64, 50.0, 10.0),
    ("paced", 128, 1280, 64, 50.0, 10.0),
)
BODY = {"model": "made", "messages": [{"role": "user", "content": "Write a story about a lighthouse keeper. " * 4}]}


def pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {core})


@contextmanager
def truth_server(ttft_ms: float, itl_ms: float) -> Iterator[str]:
    command = [sys.executable, str(HERE / "truth_server.py"), "--ttft-ms", str(ttft_ms), "--itl-ms", str(itl_ms)]
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=env, preexec_fn=lambda: pin(0))
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.terminate()
        server.wait()


async def by_replay(url: str, streams: int, requests: int, tokens: int, folder: Path) -> dict[str, Any]:
    """{"ttft": {id: ns from sending}, "chunks", "cpu_s", "wall_s"} of our client; ids are the X-Request-Id."""
    rows = [Request(f"r{i}", 0.0, "/v1/chat/completions", {**BODY, "max_tokens": tokens}) for i in range(requests)]
    path = folder / f"recording-{monotonic_ns()}.jsonl"
    out = path.with_suffix(".run")
    recording.write(path, {"name": "made", "synthetic": True}, rows)
    run = await Replay.start(ReplaySpec(url, None, str(path), str(out), pace=f"closed:{streams}", keep_text=False))
    end = await run.wait()
    header, outcomes, _ = read_outcomes(out)
    prefix = header["request_ids"].partition("-N,")[0]
    ttft = {}
    for o in outcomes:
        if o.ttft_s is not None and o.sent_s is not None:
            ttft[f"{prefix}-{o.id[1:]}"] = int((o.ttft_s - (o.sent_s - o.due_s)) * 1e9)
    cpu = end.fidelity["replayer_cpu_share"] * (end.duration_s or 0.0)
    chunks = end.fidelity["content_events"]
    return {"ttft": ttft, "chunks": chunks, "cpu_s": cpu, "wall_s": end.duration_s, "clock": end.fidelity["clock"]}


async def by_httpx(url: str, streams: int, requests: int, tokens: int) -> dict[str, Any]:
    """The same with httpx as its documentation shows it, in a process of its own (see `main`)."""
    ttft: dict[str, int] = {}
    numbers, chunks = iter(range(requests)), 0
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)

    async def worker(client: httpx.AsyncClient) -> None:
        nonlocal chunks
        for number in numbers:
            sent, first = monotonic_ns(), None
            headers = {"X-Request-Id": f"h-{number}"}
            body = {**BODY, "max_tokens": tokens, "stream": True}
            async with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
                async for line in answer.aiter_lines():
                    at = monotonic_ns()
                    if line.startswith("data: {"):
                        choices = json.loads(line[6:])["choices"]
                        if choices and choices[0]["delta"].get("content"):
                            chunks += 1
                            first = first or at
            ttft[f"h-{number}"] = (first or sent) - sent

    gc.disable()
    wall, cpu = monotonic_ns(), _cpu()
    async with httpx.AsyncClient(timeout=None, limits=limits, trust_env=False) as client:
        await asyncio.gather(*(worker(client) for _ in range(streams)))
    return {"ttft": ttft, "chunks": chunks, "cpu_s": _cpu() - cpu, "wall_s": (monotonic_ns() - wall) / 1e9}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def judged(result: dict[str, Any], url: str, streams: int) -> dict[str, float]:
    """Errors in ms against the server's truth, without each stream's first request, whose connection is new."""
    truth = httpx.get(f"{url}/truth", trust_env=False).json()
    late = sorted(truth, key=lambda name: truth[name][0])[streams:]
    errors = [
        (result["ttft"][name] - (truth[name][1] - truth[name][0])) / 1e6 for name in late if name in result["ttft"]
    ]
    return {
        "error_p50_ms": float(numpy.quantile(errors, 0.5)),
        "error_p99_ms": float(numpy.quantile(errors, 0.99)),
        "cpu_s_per_1000_chunks": 1000 * result["cpu_s"] / result["chunks"],
        "chunks_per_s": result["chunks"] / result["wall_s"],
        "requests": len(errors),
    }


def measure(case: tuple[Any, ...], folder: Path) -> dict[str, Any]:
    name, streams, requests, tokens, ttft_ms, itl_ms = case
    with truth_server(ttft_ms, itl_ms) as url:
        ours = asyncio.run(by_replay(url, streams, requests, tokens, folder))
        row = {"case": name, "streams": streams, "clock": ours["clock"], "replay": judged(ours, url, streams)}
        command = [sys.executable, __file__, "--httpx", json.dumps([url, streams, requests, tokens])]
        theirs = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        row["httpx"] = judged(theirs, url, streams)
    return row


_ROW = "{:<10} {:>7}  {:<7} {:>14} {:>12} {:>19} {:>9}"


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """Print one case. Saturated, a first token lies in full buffers: its time says nothing about the client."""
    paced = row["case"] == "paced"
    for client in ("replay", "httpx"):
        r = row[client]
        error = [f"{r[key]:,.3f} ms" if paced else "-" for key in ("error_p50_ms", "error_p99_ms")]
        cost = f"{r['cpu_s_per_1000_chunks']:.4f}"
        print(_ROW.format(row["case"], row["streams"], client, *error, cost, f"{r['chunks_per_s']:,.0f}"))
    ours, theirs = row["replay"], row["httpx"]
    ratio = [_ratio(theirs[key], ours[key]) if paced else "" for key in ("error_p50_ms", "error_p99_ms")]
    cost = f"{theirs['cpu_s_per_1000_chunks'] / ours['cpu_s_per_1000_chunks']:.1f}x"
    print(
        _ROW.format("", "", "ratio", *ratio, cost, f"{theirs['chunks_per_s'] / ours['chunks_per_s']:.2f}x"), flush=True
    )
    return row


def _ratio(theirs: float, ours: float) -> str:
    """Ours is as often a little under the truth as over it, for the noise of the server's own stamps is about 20 us."""
    return f"{theirs / ours:,.0f}x" if ours >= 0.02 else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--httpx", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    pin(1)
    if asked.httpx:
        print(json.dumps(asyncio.run(by_httpx(*json.loads(asked.httpx)))))
        return
    if os.getloadavg()[0] > 0.5:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): p99 will be that of its scheduler")
    print(_ROW.format("case", "streams", "client", "TTFT error p50", "p99", "CPU s/1,000 chunks", "chunks/s"))
    with tempfile.TemporaryDirectory() as folder:
        rows = [shown(measure(case, Path(folder))) for case in CASES]
    if asked.json:
        asked.json.write_text(json.dumps({"schema": "vtune.client-benchmark/1", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
