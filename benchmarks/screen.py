"""What the dashboard costs: CPU while a replay runs and while nothing does, the way of a key, the first paint, a day.

    python benchmarks/screen.py [replay] [idle] [keys] [paint] [day] [--seconds 20] [--size 160x48] [--json FILE|-]

Runs vtune in a pty on the stand-in, which answers `--streams` requests at a time with 1,000 token events a second in
all; what the replay received is told, and a run that fell short of it is no verdict. vtune's modules are compiled
beforehand, as an installed package's are. CPU is that of vtune's own process, user and system; the replay, the keeper
and the engine are processes of their own and are told apart. A busy machine makes the same work take more CPU time (a
shared core, cold caches), so a fixed loop is timed all along: what it takes on average over its best is the slowdown,
and what is held to the limit is divided by it.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).resolve().parent)]

from made import write_recording  # noqa: E402
from screen_day import day  # noqa: E402
from terminal import Terminal  # noqa: E402

EVENTS_PER_S = 1_000
NOMINAL_PER_S = 1_060
"""While tokens flow; between two answers a stream waits for a prefill."""
LIMITS = {
    "replay: CPU, % of a core": 8.0,
    "keys: p95, ms": 50.0,
    "paint: first, ms": 400.0,
    "day: growth, MiB": 16.0,
}
PATIENCE = 10.0  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")
PROFILE = """
name: bench
engine:
  model: /models/smollm2-135m
  python: {python}
  env: {{VLLM_CPU_KVCACHE_SPACE: "1", STANDIN_START_S: "0.1", STANDIN_STEP_MS: "{step}"}}
  args: {{max-model-len: 8192, enforce-eager: on}}
  warm: off
levers: {{prefix-caching: on, chunked-prefill: 2048, speculative: off, kv-dtype: auto, max-num-seqs: 128}}
traffic: {{recording: {recording}, pace: "closed:{streams}"}}
"""


class Bench:
    """A profile on the stand-in and a place for sessions; `open` starts vtune in a pty."""

    def __init__(self, folder: Path, words: argparse.Namespace) -> None:
        self.folder, self.words = folder, words
        recording = write_recording(
            folder / "traffic.jsonl", requests=4_000, gap_s=0.0, max_tokens=words.tokens, ignore_eos=True
        )
        self.profile = folder / "bench.yaml"
        step = 1_000 * words.streams / NOMINAL_PER_S
        python = ROOT / "tests" / "standin" / "python"
        text = PROFILE.format(python=python, step=step, recording=recording, streams=words.streams)
        self.profile.write_text(text)
        self.size = tuple(int(side) for side in words.size.split("x"))

    def open(self, *argv: str, **env: str) -> Terminal:
        own = {f"VTUNE_{name}": str(self.folder / name.lower()) for name in ("STATE", "CONFIG", "DATA")}
        # The compiled modules in a place of their own, also where the environment says to write none.
        own |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.folder / "compiled")}
        argv = (*(argv or (sys.executable, "-m", "tui")), str(self.profile))
        return Terminal(argv=list(argv), size=self.size, STANDIN_TREE="0", **own, **env)


def cpu_s(pid: int) -> float:
    """User and system time of one process, its threads included and its children not."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def descendants(pid: int) -> list[int]:
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [deep for child in found for deep in descendants(child)]


def _name(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    for word, name in (("replay.child", "replay"), ("keeper", "keeper"), ("api_server", "engine (stand-in)")):
        if any(word in one for one in words):
            return name
    return "others"


class Machine:
    """How much slower than its best this machine is: a loop of a millisecond or so, timed now and then."""

    def __init__(self) -> None:
        self.best = min(self._loop() for _ in range(300))
        self.seen: list[float] = []

    def _loop(self) -> float:
        start = time.thread_time()
        made = {number: str(number) for number in range(5_000)}
        sorted(made.values())
        return time.thread_time() - start

    def look(self) -> None:
        self.seen.append(self._loop())
        self.best = min(self.best, self.seen[-1])

    def slowdown(self) -> float:
        """Since the last question; 1.0 on a quiet machine."""
        seen, self.seen = self.seen or [self._loop()], []
        return max(1.0, statistics.mean(seen) / self.best)


MACHINE = Machine()


def drain(terminal: Terminal, seconds: float) -> int:
    """Read for `seconds`; bytes that came."""
    before, end = len(terminal.screen), time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        terminal.read(min(left, 0.2))
        MACHINE.look()
    return len(terminal.screen) - before


def close(terminal: Terminal) -> None:
    if terminal.master < 0:  # it was ended
        return
    terminal.press("q")
    time.sleep(0.3)
    terminal.press("y")
    terminal.wait()
    terminal.close()


def watch(bench: Bench, seconds: float, replaying: bool) -> dict[str, Any]:
    """vtune's CPU over `seconds`, the stages that it went into, the bytes it wrote and what its processes took."""
    told = bench.folder / f"stages-{replaying}.json"
    terminal = bench.open(sys.executable, str(ROOT / "benchmarks" / "screen_stages.py"), STAGES=str(told))
    try:
        terminal.until("● ready")
        if replaying:
            terminal.press("r")
            terminal.until("in flight")
        drain(terminal, 4.0)
        pid = terminal.process.pid
        others = {child: cpu_s(child) for child in descendants(pid)}
        MACHINE.slowdown()
        chunks, began, before = _chunks(bench), time.monotonic(), cpu_s(pid)
        os.kill(pid, signal.SIGUSR1)
        written = drain(terminal, seconds)
        wall, after, chunks = time.monotonic() - began, cpu_s(pid), _chunks(bench) - chunks
        os.kill(pid, signal.SIGUSR1)
        while not told.exists():
            drain(terminal, 0.1)
        inside = json.loads(told.read_text())
        beside: dict[str, float] = {}
        for child, spent in others.items():
            if Path(f"/proc/{child}").exists():
                beside[_name(child)] = beside.get(_name(child), 0.0) + 100 * (cpu_s(child) - spent) / wall
        stages = {name: {"percent": 100 * one["cpu_s"] / wall, "calls_per_s": one["calls"] / wall}
                  for name, one in inside["stages"].items()}  # fmt: skip
        stages["rest: event loops, HTTP, messages"] = {
            "percent": 100 * (after - before) / wall - sum(one["percent"] for one in stages.values()),
            "calls_per_s": None,
        }
        slowdown = MACHINE.slowdown()
        percent = 100 * (after - before) / wall
        return {"percent": percent / slowdown, "as measured": percent, "slowdown": slowdown,
                "events_per_s": chunks / wall, "bytes_per_s": written / wall, "stages": stages,
                "beside": beside}  # fmt: skip
    finally:
        close(terminal)


def _chunks(bench: Bench) -> int:
    """Content events that the newest session's replay has told of."""
    journals = sorted((bench.folder / "state").rglob("journal.jsonl"), key=lambda path: path.stat().st_mtime)
    ticks = [json.loads(line) for line in journals[-1].read_text().splitlines() if '"e":"tick"' in line]
    return ticks[-1]["tick"]["content_chunks"] if ticks else 0


class Key(NamedTuple):
    """What is pressed, words of one style in the last thing that it brings, and the key that takes that away."""

    name: str
    press: str
    brings: str
    back: str


KEYS = (
    Key("pause", "p", "drawing paused", "p"),
    Key("toggle a lever", " ", "1 change", "u"),
    Key("type a lever's value", "\r", "on | off", "\x1b"),
    Key("one area alone", "m", " prefix hits ", "m"),
    Key("undo, with nothing to undo", "u", "no change to undo", "\x1b"),
    Key("copy the command line", "Y", "copied the engine", "\x1b"),
    Key("help", "?", "All keys", "\x1b"),
    Key("log", "l", "following", "\x1b"),
    Key("palette", "\x10", "Drain or cancel", "\x1b"),
    Key("recordings", "o", "rag-handbook", "\x1b"),
    Key("copy", "y", "all levers", "\x1b"),
    Key("end the replay", "x", "cancel: end them now", "s"),
    Key("restart", "R", "restart now", "n"),
    Key("end the engine", "E", "end the engine", "s"),
    Key("recorder", "t", "Clients that send", "\x1b"),
    Key("quit", "q", "end replay and engine", "s"),
)
"""All that a key opens, and some that only change a word."""


def keys(bench: Bench, rounds: int = 10) -> dict[str, Any]:
    """Milliseconds from a key to what it changes on screen, with a replay running."""
    terminal = bench.open()
    try:
        terminal.until("● ready")
        terminal.press("r")
        terminal.until("in flight")
        drain(terminal, 2.0)
        MACHINE.slowdown()
        took: dict[str, list[float]] = {key.name: [] for key in KEYS}
        for n in range(rounds * len(KEYS)):
            key = KEYS[n % len(KEYS)]
            drain(terminal, 0.4 + n % 7 / 50)  # at any time between two drawings
            took[key.name].append(_answer(terminal, key))
            drain(terminal, 0.3)  # a key right after escape would be another key
            terminal.press(key.back)
        drain(terminal, 0.5)
        slowdown = MACHINE.slowdown()
        every = [ms for one in took.values() for ms in one]
        return {"p95": _p95(every) / slowdown, "p95 as measured": _p95(every),
                "p50 as measured": statistics.median(every), "slowdown": slowdown,
                "keys": {name: {"p50": statistics.median(one), "most": max(one), "first": one[0]}
                         for name, one in took.items()}}  # fmt: skip
    finally:
        close(terminal)


def _answer(terminal: Terminal, key: Key) -> float:
    """Milliseconds until the terminal has been sent what the key brings."""
    terminal.screen = ""  # to look through a long one would take longer than the key
    began = time.monotonic()
    terminal.press(key.press)
    while key.brings not in terminal.screen:
        terminal.read(1.0)
        if time.monotonic() - began > PATIENCE:
            terminal.end()
            raise SystemExit(f"{key.name}: {key.brings!r} did not come")
    return 1_000 * (time.monotonic() - began)


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def paint(bench: Bench, rounds: int = 7) -> dict[str, Any]:
    """Milliseconds from the start of the process to the first picture: all areas with their titles."""
    first = []
    for number in range(rounds + 1):
        if number == 1:  # the first one compiled the modules
            MACHINE.slowdown()
            first.clear()
        MACHINE.look()
        began = time.monotonic()
        terminal = bench.open()
        while "Levers" not in terminal.screen:
            terminal.read(1.0)
        first.append(1_000 * (time.monotonic() - began))
        MACHINE.look()
        close(terminal)
    slowdown = MACHINE.slowdown()
    return {"first": statistics.median(first) / slowdown, "as measured": statistics.median(first),
            "least": min(first), "slowdown": slowdown}  # fmt: skip


def show(name: str, found: dict[str, Any]) -> None:
    if name in ("replay", "idle"):
        print(f"\n{name}: vtune's own process takes {found['percent']:.1f} % of a core "
              f"({found['as measured']:.1f} % as measured, on a machine at 1/{found['slowdown']:.2f} of its best speed"
              f")\n  {found['events_per_s']:,.0f} token events/s, "
              f"{found['bytes_per_s']:,.0f} bytes/s to the terminal; of it, as measured:")  # fmt: skip
        for stage, one in sorted(found["stages"].items(), key=lambda pair: -pair[1]["percent"]):
            calls = "" if one["calls_per_s"] is None else f"{one['calls_per_s']:8.1f} calls/s"
            print(f"  {one['percent']:5.2f} %  {stage:<38}{calls}")
        for process, percent in found["beside"].items():
            print(f"  beside it: {process} {percent:.0f} %")
        return
    print(f"\n{name}: " + ", ".join(f"{key} {value:,.1f}" for key, value in found.items() if key != "keys"))
    for key, one in found.get("keys", {}).items():
        print(f"  {one['p50']:6.1f} ms  {key:<28} at most {one['most']:.0f}, the first time {one['first']:.0f}")


def judge(found: dict[str, Any]) -> None:
    print()
    values = {
        "replay: CPU, % of a core": found.get("replay", {}).get("percent"),
        "keys: p95, ms": found.get("keys", {}).get("p95"),
        "paint: first, ms": found.get("paint", {}).get("first"),
        "day: growth, MiB": found.get("day", {}).get("growth MiB"),
    }
    load = found.get("replay", {}).get("events_per_s")
    if load is not None and load < 0.99 * EVENTS_PER_S:
        print(f"  replay: {load:,.0f} of {EVENTS_PER_S:,} token events/s reached the replay: no verdict on its CPU")
        values["replay: CPU, % of a core"] = None
    for name, value in values.items():
        if value is not None:
            print(f"{'✓' if value <= LIMITS[name] else '✕'} {name}: {value:.1f} of {LIMITS[name]:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = ("replay", "idle", "keys", "paint", "day")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}; all without any")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", default="160x48")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=100, help="of each answer")
    parser.add_argument("--json", metavar="FILE")
    words = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="vtune-bench-") as folder:
        bench = Bench(Path(folder), words)
        does = {
            "replay": lambda: watch(bench, words.seconds, True),
            "idle": lambda: watch(bench, words.seconds, False),
            "keys": lambda: keys(bench),
            "paint": lambda: paint(bench),
            "day": day,
        }
        for part in words.parts or parts:
            found[part] = does[part]()
            show(part, found[part])
    judge(found)
    if words.json:
        text = json.dumps({"schema": "vtune.screen/1", "size": words.size, **found}, indent=2)
        print(text) if words.json == "-" else Path(words.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
