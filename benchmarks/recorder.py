"""What does the recording proxy add to a streamed answer? Against direct, interleaved, in the same run.

One client with N streams sends each request three times, twice direct and once through ``vtune record``, in an order
drawn anew for each; all go to the same server. Compared are the first byte of the answer's body and its end, as the
client sees them on kept-alive connections. What the second direct arm seems to add is the noise of the machine: nothing
below it is the proxy's. The server, the proxy and the client are processes of their own.
``python benchmarks/recorder.py [--json FILE]``.
"""

import argparse
import asyncio
import gc
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns
from typing import Any

import numpy

from tui.traffic.http.connection import Connection, open_connection
from tui.traffic.http.target import Target, encode_request, parse_target

HERE = Path(__file__).resolve().parent
CASES = (  # name, streams, requests each way, prompt characters, tokens, TTFT ms, ms between tokens
    ("small", 1, 400, 2_000, 8, 5.0, 0.0),
    ("streams", 16, 480, 8_000, 32, 20.0, 10.0),
    ("long prompts", 4, 480, 200_000, 16, 20.0, 5.0),
)
Rows = dict[str, list[tuple[float, float]]]  # arm -> (first byte, end) of each answer, ms
PROMPT = "Write a story about a lighthouse keeper. "


class Seen:
    """Times of one answer, CLOCK_MONOTONIC ns, stamped by the kernel where it does."""

    def __init__(self) -> None:
        self.first = self.last = 0

    def on_sent(self, at: int) -> None:
        pass

    def on_body(self, pieces: list[bytes], at: int, kernel: bool) -> None:
        self.first = self.first or at
        self.last = at


@contextmanager
def truth_server(ttft_ms: float, itl_ms: float) -> Iterator[str]:
    command = [sys.executable, str(HERE / "truth_server.py"), "--ttft-ms", str(ttft_ms), "--itl-ms", str(itl_ms)]
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=env)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def recorder(upstream: str, folder: Path) -> Iterator[str]:
    out = folder / f"recorded-{monotonic_ns()}.jsonl"
    command = [sys.executable, "-m", "tui", "record", "--upstream", upstream, "--listen", "127.0.0.1:0", "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=HERE.parent)
    assert process.stderr is not None
    found = None
    while not found:
        found = re.search(r"recording (http://\S+) -> ", process.stderr.readline())
    try:
        yield found[1]
    finally:
        process.terminate()
        print("  " + process.stderr.read().strip().replace("\n", "\n  "), flush=True)
        process.wait()


async def timed(connection: Connection, target: Target, body: bytes) -> tuple[float, float]:
    """(ms to the first byte of the body, ms to its last)."""
    seen, data = Seen(), encode_request(target, "POST", "/v1/chat/completions", [], body)
    began = monotonic_ns()
    await connection.exchange(data, seen)
    return (seen.first - began) / 1e6, (seen.last - began) / 1e6


async def worker(urls: dict[str, str], numbers: Iterator[int], body: bytes, rows: Rows) -> None:
    targets = {name: parse_target(url) for name, url in urls.items()}
    connections: dict[str, Connection] = {}
    order = random.Random(next(numbers))
    warm = 2
    for _ in numbers:
        for name in order.sample(sorted(targets), len(targets)):
            if name not in connections or not connections[name].reusable:
                connections[name] = await open_connection(targets[name])
            times = await timed(connections[name], targets[name], body)
            if warm <= 0:
                rows[name].append(times)
        warm -= 1
    for connection in connections.values():
        connection.close()


async def interleaved(urls: dict[str, str], case: tuple[Any, ...]) -> Rows:
    _, streams, requests, characters, tokens, _, _ = case
    prompt = (PROMPT * (characters // len(PROMPT) + 1))[:characters]
    body = json.dumps({
        "model": "made", "messages": [{"role": "user", "content": prompt}], "max_tokens": tokens, "stream": True
    }).encode()  # fmt: skip
    rows: Rows = {name: [] for name in urls}
    numbers = iter(range(requests + streams * 3))
    gc.collect()
    gc.disable()
    await asyncio.gather(*(worker(urls, numbers, body, rows) for _ in range(streams)))
    gc.enable()
    return rows


def measure(case: tuple[Any, ...], folder: Path) -> dict[str, Any]:
    name, streams, _, characters, tokens, ttft_ms, itl_ms = case
    with truth_server(ttft_ms, itl_ms) as direct, recorder(direct, folder) as through:
        rows = asyncio.run(interleaved({"direct": direct, "again": direct, "through": through}, case))
    return {
        "case": name, "streams": streams, "prompt_chars": characters, "tokens": tokens, "load": os.getloadavg()[0],
        **{arm: quantiles(times) for arm, times in rows.items()},
    }  # fmt: skip


def quantiles(times: list[tuple[float, float]]) -> dict[str, float]:
    first, last = [t[0] for t in times], [t[1] for t in times]
    found = {"n": float(len(times))}
    for what, values in (("first", first), ("end", last)):
        for q in (50, 99):
            found[f"{what}_p{q}_ms"] = float(numpy.quantile(values, q / 100))
    return found


_ROW = "{:<13} {:>7} {:<9} {:>6} {:>15} {:>9} {:>15} {:>9}"
_FIGURES = ("first_p50_ms", "first_p99_ms", "end_p50_ms", "end_p99_ms")


def show(row: dict[str, Any]) -> None:
    for arm in ("direct", "again", "through"):
        figures = [f"{row[arm][key]:,.3f}" for key in _FIGURES]
        print(_ROW.format(row["case"], row["streams"], arm, f"{row[arm]['n']:.0f}", *figures))
    for name, arm in (("noise", "again"), ("added", "through")):
        added = [f"{row[arm][key] - row['direct'][key]:+,.3f}" for key in _FIGURES]
        print(_ROW.format("", "", f"{name} ms", "", *added), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if (load := os.getloadavg()[0]) > 0.5:
        print(f"the machine is busy (load {load:.1f} on {os.cpu_count()} cores): every arm waits for its scheduler,")
        print("and the proxy, one process more on the way, waits once more: p99 is then not its own")
    print(_ROW.format("case", "streams", "arm", "n", "first byte p50", "p99", "end p50", "p99"))
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for case in CASES:
            rows.append(measure(case, Path(folder)))
            show(rows[-1])
    if asked.json:
        asked.json.write_text(json.dumps({"schema": "vtune.recorder-benchmark/1", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
