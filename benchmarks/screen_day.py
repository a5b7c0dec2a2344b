"""A simulated day: the fold and the screen fed with what a session's journal tells in 24 hours, time made up.

Every ten minutes a replay of 32 requests that takes three minutes, with a tick four times a second and a scrape 2.5
times a second, as `tui.session` makes them; between them the engine idles. The screen is drawn headless at 160x48 at
moments all over the day. Said is the memory of the process (RSS) after an hour, and by how much the rest of the day
adds to it: the runs of the day, which stay in the table, and nothing that grows with time. And what a snapshot costs
at the end, with all of them in it.
"""

import asyncio
import gc
import tempfile
import time
from pathlib import Path
from typing import Any

from tui.app import VtuneApp
from tui.metrics.scrape import EngineSample, Scrape
from tui.session import bounds, views
from tui.session.snapshot import EMPTY, Snapshot
from tui.session.state import State

HOURS, EVERY_S, RUN_S, REQUESTS = 24, 600, 180, 32
T0 = 1_800_000_000.0


def rss_mib() -> float:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4_096 / 2**20


class Day:
    """A State that lives through it; `run` is one replay."""

    def __init__(self) -> None:
        self.state = State(header={"session": "a-day"})
        self.tell("profile", 0, name="bench", levers={"prefix-caching": "on"})
        self.tell("launch", 1, n=1, state="starting", argv=[], asked={"prefix-caching": "on"}, log="engine-1.log")
        self.tell("engine", 2, n=1, state="ready", start_s=2.0)
        self.tell("applied", 2, n=1, levers={"prefix-caching": "on"}, block_size=128, kv_cache_tokens=46_592)

    def tell(self, kind: str, after: float, **values: Any) -> None:
        self.state.apply({"e": kind, "t": T0 + after, **values})

    def scrape(self, at: float, served: float) -> None:
        tokens = int(served * 1_000)
        sample = EngineSample(
            "0", running=3, waiting=1, kv_usage=0.2 + (at % 60) / 200, prefix_queries=tokens, prefix_hits=tokens // 2,
            prompt_tokens=tokens, generation_tokens=tokens // 10, itl_count=tokens // 10, ttft_count=int(served),
        )  # fmt: skip
        self.tell("scrape", at, n=1, full=True, d=Scrape(T0 + at, (sample,), T0).to_json())

    def run(self, number: int, at: float) -> None:
        recording = {"name": "traffic", "sha256": "0"}
        self.tell("run", at, n=number, engine=1, label="same again", total=REQUESTS, recording=recording)
        self.tell("run-state", at, n=number, state="running")
        done = 0
        for quarter in range(4 * RUN_S):
            moment, served = at + quarter / 4, (number - 1) * RUN_S + quarter / 4
            rows = []
            while done < REQUESTS * quarter / (4 * RUN_S):
                rows.append(_finished(done, quarter / 4))
                done += 1
            self.tell("tick", moment, n=number, tick=_tick(quarter / 4, done, rows))
            if quarter % 2 == 0:
                self.scrape(moment, served)
        result = {
            "ttft_s": {}, "tpot_s": {}, "throughput": {"output_tokens_per_s": 100.0},
            "prefix_cache": {"state": "on"}, "requests": {"ok": REQUESTS, "failed": 0},
        }  # fmt: skip
        self.tell("run-end", at + RUN_S, n=number, state="done", end={"kind": "done"}, result=result)
        bounds.release(self.state.runs.values())


def _finished(number: int, at: float) -> dict[str, Any]:
    return {
        "id": f"r{number}", "group": None, "status": "ok", "reuse": "warm" if number % 3 else "cold", "at_s": at,
        "ttft_s": 0.2 + number % 7 / 10, "tpot_s": 0.03, "e2e_s": 2.0, "prompt_tokens": 1_000, "cached_tokens": 500,
        "output_tokens": 30, "due_s": max(0.0, at - 2), "sent_s": max(0.0, at - 2),
    }  # fmt: skip


def _tick(at: float, done: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "at_s": at, "total": REQUESTS, "sent": done, "ok": done, "failed": 0, "cancelled": 0, "running": 2,
        "waiting": 0, "content_chunks": 30 * done, "output_tokens": 30 * done, "max_lag_s": 0.001, "dropped": 0,
        "finished": rows, "in_flight": [{"id": "x", "group": None, "due_s": at - 1, "sent_s": at - 1, "first_s": None}],
    }  # fmt: skip


class _Screen:
    """The session as the app sees it: only pictures come."""

    def __init__(self) -> None:
        self.listener: Any = None

    def subscribe(self, listener: Any) -> None:
        self.listener = listener
        listener(EMPTY)

    async def start(self) -> None: ...

    async def close(self) -> None: ...


async def _live(folder: Path) -> dict[str, Any]:
    made, screen = Day(), _Screen()
    app = VtuneApp(screen)  # type: ignore[arg-type]  # of the controls, only what an untouched screen asks for
    sizes: list[float] = []
    async with app.run_test(size=(160, 48)) as pilot:
        for number in range(1, HOURS * 3_600 // EVERY_S + 1):
            at = number * EVERY_S
            made.run(number, float(at))
            screen.listener(_picture(made, folder, at + RUN_S + 1))
            await pilot.pause()
            if number % (3_600 // EVERY_S) == 0:
                gc.collect()
                sizes.append(rss_mib())
    spent = []
    for tick in range(200):
        began = time.process_time()
        _picture(made, folder, at + RUN_S + 2 + tick)
        spent.append(time.process_time() - began)
    return {"runs": number, "after an hour MiB": sizes[0], "growth MiB": sizes[-1] - sizes[0],
            "of it a run KiB": 1_024 * (sizes[-1] - sizes[0]) / (number - number / HOURS),
            "a snapshot at the end ms": 1_000 * sorted(spent)[len(spent) // 2]}  # fmt: skip


def _picture(made: Day, folder: Path, at: float) -> Snapshot:
    return views.snapshot(made.state, folder, T0 + at, T0 + at)


def day() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_live(Path(folder)))
