"""How exact is the replay's client, and what does it cost? Beside every other load client that is installed.

All stream from a server of ours that logs when it received each request and wrote its first token
(`truth_server.py`). A client's error is its TTFT, from sending, minus the server's; send lateness and throughput are
the server's own observation. The server is pinned to one core and the clients, one after another, to another; in each
case all clients take their turn, in an order that moves on by one.
``python benchmarks/client.py [--peers DIR] [--setup] [--only NAME,...] [--case NAME] [--json FILE]``.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import client_peers as peers
import numpy
from client_peers import Asked, Peer

HERE = Path(__file__).resolve().parent
MOST_S = 60  # for one client in one case


@dataclass(frozen=True)
class Case:
    name: str
    asked: Asked
    ttft_ms: float = 0.0
    itl_ms: float = 0.0
    burst: int = 1


CASES = (
    Case("saturated", Asked(64, 640, 128, None)),
    Case("saturated, 16 a write", Asked(64, 1280, 256, None), burst=16),
    *(Case(f"{n} stream{'s' * (n > 1)}", Asked(n, 10 * n if n > 1 else 20, 64, None), 50.0, 10.0)
      for n in (1, 32, 128, 256)),
    Case("1,000 requests/s", Asked(0, 3000, 4, 1000.0), 5.0, 2.0),
)  # fmt: skip


def pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {core})


@contextmanager
def truth_server(case: Case) -> Iterator[str]:
    command = [sys.executable, str(HERE / "truth_server.py"), "--ttft-ms", str(case.ttft_ms),
               "--itl-ms", str(case.itl_ms), "--burst", str(case.burst)]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=env, preexec_fn=lambda: pin(0))
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.terminate()
        server.wait()


def truth_of(url: str) -> list[list[Any]]:
    """[id, received, first, last, chunks] of each answer, in order of receiving."""
    with build_opener(ProxyHandler({})).open(f"{url}/truth") as answer:
        return sorted(json.load(answer), key=lambda row: row[1])


def run(peer: Peer, url: str, case: Case, folder: Path) -> dict[str, Any]:
    """What one client made of one case."""
    out = folder / f"{peer.name}-{time.monotonic_ns()}".replace(" ", "-")
    out.mkdir()
    command = peer.command(url, case.asked, out)
    log = (out / "log").open("w")
    began = time.monotonic_ns()
    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=out, env=peers.environment(),
                               preexec_fn=lambda: pin(1), start_new_session=True)  # fmt: skip
    cpu, memory, late = watched(process)
    truth = truth_of(url)
    if late:
        return {"failed": f"not done within {MOST_S} s"}
    try:
        rows = peer.read(out)
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = (out / "log").read_text(errors="replace").strip().splitlines()[-1:]
        return {"failed": f"{type(error).__name__}: {error}; its last words: {' '.join(words)[:200]}"}
    return judged(rows, truth, case, began) | {"cpu_s": cpu, "memory_mb": memory}


def watched(process: subprocess.Popen[bytes]) -> tuple[float, float, bool]:
    """CPU seconds and largest resident memory (MB) of the client with all its processes, and whether it was cut."""
    memory, end = 0.0, time.monotonic() + MOST_S
    before = os.times()
    while process.poll() is None:
        memory = max(memory, sum(_resident(pid) for pid in _members(process.pid)))
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 0.0, memory, True
        time.sleep(0.25)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, memory, False


def _members(root: int) -> list[int]:
    """The process and all below it, whatever session they made for themselves."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def _resident(pid: int) -> float:
    """Proportional set size, MB: pages that processes share count once."""
    try:
        words = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in words if line.startswith("Pss:")), 0.0)


def judged(rows: list[list[int]], truth: list[list[Any]], case: Case, began: int) -> dict[str, Any]:
    """Figures against the server's truth. A client's rows and the server's are matched by their order; requests of a
    warm-up come first and are left out, and so is each stream's first request, whose connection is new."""
    truth = truth[-len(rows) :]
    chunks = sum(row[4] for row in truth)
    found: dict[str, Any] = {
        "requests": len(rows),
        "chunks_per_s": chunks / ((max(row[3] for row in truth) - truth[0][1]) / 1e9),
        "chunks": chunks,
        "first_request_s": (truth[0][1] - began) / 1e9,
    }
    if case.asked.rate:
        found["lateness_p99_ms"] = quantile(lateness(truth, case.asked.rate), 0.99)
    elif case.ttft_ms:
        kept = list(zip(rows, truth, strict=True))[case.asked.streams :]
        errors = [(row[1] - (real[2] - real[1])) / 1e6 for row, real in kept]
        found |= {"error_p50_ms": quantile(errors, 0.5), "error_p99_ms": quantile(errors, 0.99)}
    return found


def lateness(truth: list[list[Any]], rate: float) -> list[float]:
    """How late each request came, ms, against the line that the earliest of them lie on."""
    every = 1e9 / rate
    offsets = [row[1] - number * every for number, row in enumerate(truth)]
    begin = numpy.quantile(offsets, 0.01)  # a single early one is no schedule
    return [(offset - begin) / 1e6 for offset in offsets]


def quantile(values: list[float], share: float) -> float:
    return float(numpy.quantile(values, share))


_ROW = "{:<22} {:<15} {:>12} {:>13} {:>13} {:>12} {:>9} {:>8} {:>7}"
_HEAD = ("case", "client", "chunks/s", "TTFT err p50", "TTFT err p99", "late p99", "CPU s/1k", "start s", "MB")


def show(case: Case, name: str, row: dict[str, Any]) -> None:
    if "failed" in row:
        print(f"{case.name:<22} {name:<15} {row['failed'][:120]}", flush=True)
        return
    saturated = not case.ttft_ms
    print(_ROW.format(
        case.name, name, f"{row['chunks_per_s']:,.0f}" if saturated else "",
        *(f"{row[key]:,.3f} ms" if key in row else "" for key in ("error_p50_ms", "error_p99_ms", "lateness_p99_ms")),
        f"{1000 * row['cpu_s'] / row['chunks']:.4f}", f"{row['first_request_s']:.2f}", f"{row['memory_mb']:.0f}",
    ), flush=True)  # fmt: skip


def named(word: str) -> list[Case]:
    return [c for c in CASES if c.name == word] or [c for c in CASES if c.name.startswith(word)]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows of cases that are in the file already take their places: a case is measured in one go, all need not be."""
    measured = {row["case"] for row in rows}
    kept = json.loads(path.read_text())["rows"] if path.is_file() else []
    rows = [row for row in kept if row["case"] not in measured] + rows
    order = [case.name for case in CASES]
    rows.sort(key=lambda row: order.index(row["case"]))
    path.write_text(json.dumps({"schema": "vtune.client-benchmark/3", "rows": rows}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peers", type=Path, default=Path(os.environ.get("VTUNE_PEERS", HERE / "peers")))
    parser.add_argument("--setup", action="store_true", help="install the other clients into --peers, and end")
    parser.add_argument("--only", help="these clients, separated by commas")
    parser.add_argument(
        "--case", action="append", default=[], help="this case, or those whose name begins so; again for more"
    )
    asked = parser.parse_args()
    if asked.setup:
        peers.set_up(asked.peers)
        return
    from tui.engine import model

    there = peers.installed(asked.peers.resolve(), str(model.place("bundled:smollm2-135m")))
    there = [peer for peer in there if not asked.only or peer.name in asked.only.split(",")]
    cases = [c for word in asked.case or [""] for c in named(word)]
    if (load := os.getloadavg()[0]) > 0.5:
        print(f"the machine is busy (load {load:.1f}): p99 will be that of its scheduler")
    print(_ROW.format(*_HEAD))
    pin(0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            with truth_server(case) as url:
                turn = number % len(there)
                for peer in there[turn:] + there[:turn]:
                    load = os.getloadavg()[0]
                    row = run(peer, url, case, Path(folder))
                    show(case, peer.name, row)
                    rows.append({"case": case.name, "client": peer.name, "load": load, **row})
            if asked.json:
                write(asked.json, rows)


if __name__ == "__main__":
    main()
