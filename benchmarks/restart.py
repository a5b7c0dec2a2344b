"""How long from *apply* to the first token: started plainly, forked from the warm starter, back to a parked engine.

    python benchmarks/restart.py [--profile demo] [--set LEVER=VALUE]... [--rounds 3] [--json FILE|-]

Plain and warm are interleaved, so that a busy machine slows both alike. A figure runs from the moment a restart is
asked for, while an engine runs that has to make room, to the first token of one fixed 16-token prompt, on the way that
the app takes; reading back what runs is part of it. The command line is the same in all but for the port. At the end
the parked engine's CPU time is counted over ten idle seconds: it must not disturb what runs beside it.
Writes vtune.restart/1.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from tui import paths
from tui.engine import command, health, install, profile, profile_set
from tui.engine.launch import Launch
from tui.session.host import Host, Policy

PROMPT = list(range(1000, 1016))  # 16 token ids, the same in every round
POLICIES = {
    "plain": Policy(warm=False, park=0),
    "warm": Policy(warm=True, park=0),
    "parked": Policy(warm=True, park=1),
}
IDLE_S = 10.0  # how long a parked engine is watched
BESIDE = "max-num-seqs=16"  # the arm that one comes back from: its difference costs nothing


class Way:
    """One way of restarting, with a host, a keeper and engines of its own."""

    def __init__(self, kind: str, folder: Path, words: argparse.Namespace, client: httpx.AsyncClient) -> None:
        self.kind = kind
        self.seconds: list[float] = []
        self.phases: dict[str, list[float]] = {}
        self.argv: tuple[str, ...] = ()
        self._arm = profile_set.with_settings(profile.load(words.profile), words.set)
        self._install = install.find(self._arm.engine.python)
        self._told: list[str] = []
        home = folder / kind
        home.mkdir()
        self._host = Host(self._hear, home, client, POLICIES[kind])

    def _hear(self, kind: str, **values: Any) -> None:
        if kind == "warning":
            self._told.append(values["text"])

    async def restart(self, *settings: str, count: bool = True) -> None:
        launch = command.build(profile_set.with_settings(self._arm, settings), self._install, health.free_port())
        begun = time.monotonic()
        await self._host.switch(launch, "restart-benchmark")
        assert self._host.launch and self._host.engine
        await first_token(self._host.launch)
        took = time.monotonic() - begun
        if not count:
            return
        engine, parked = self._host.engine, self._host.launch is not launch
        if (got := "parked" if parked else engine.start_kind) != self.kind:
            sys.exit(f"asked for a {self.kind} start, got a {got} one: {'; '.join(self._told)}")
        print(f"{self.kind:6} {took:6.2f} s", file=sys.stderr, flush=True)
        self.seconds.append(round(took, 3))
        self.argv = self._host.launch.argv
        if not parked:
            start_s = engine.start_s or 0.0
            rest = {"end the old one, read back, prompt": took - start_s}
            for name, seconds in {**engine.phases.seconds(start_s), **rest}.items():
                self.phases.setdefault(name, []).append(seconds)

    async def import_s(self) -> float | None:
        """Seconds that the starter's imports took, once."""
        starters = self._host._starters
        launch = command.build(self._arm, self._install, health.free_port())
        return (await starters.ready(launch)).import_s if starters else None

    async def parked_cpu_share(self) -> float:
        """Cores that the parked engine uses while nothing is asked of it; 0.01 is one hundredth of a core."""
        (parked,) = self._host._lot._arms.values()
        begun, before = time.monotonic(), sum(map(cpu_s, parked.engine.pids()))
        await asyncio.sleep(IDLE_S)
        return round((sum(map(cpu_s, parked.engine.pids())) - before) / (time.monotonic() - begun), 4)

    async def close(self) -> None:
        await self._host.close()


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far, user and system (fields 14 and 15 of /proc/pid/stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def first_token(launch: Launch) -> None:
    body = {"model": launch.model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}
    async with httpx.AsyncClient(base_url=launch.url, trust_env=False, timeout=120) as client:
        answer = (await client.post("/v1/completions", json=body)).raise_for_status().json()
    assert answer["usage"]["prompt_tokens"] == len(PROMPT) and answer["usage"]["completion_tokens"] == 1


async def measure(words: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="vtune-restart-") as folder:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            plain, warm, parked = (Way(kind, Path(folder), words, client) for kind in POLICIES)
            try:
                for way in (plain, warm):
                    await way.restart(count=False)  # so that every counted one has an engine to end
                for _ in range(words.rounds):
                    await plain.restart()
                    await warm.restart()
                import_s = await warm.import_s()
                await asyncio.gather(plain.close(), warm.close())
                await parked.restart(count=False)
                for _ in range(words.rounds):
                    await parked.restart(BESIDE, count=False)
                    await parked.restart()
                share = await parked.parked_cpu_share()
            finally:
                for way in (plain, warm, parked):
                    await way.close()
    return report(plain, warm, parked, import_s) | {"parked_cpu_share": share}


def report(plain: Way, warm: Way, parked: Way, import_s: float | None) -> dict[str, Any]:
    median = {way.kind: statistics.median(way.seconds) for way in (plain, warm, parked)}
    return {
        "schema": "vtune.restart/1",
        "argv": list(warm.argv),
        "plain_s": plain.seconds,
        "warm_s": warm.seconds,
        "parked_s": parked.seconds,
        "warm_ratio": round(median["plain"] / median["warm"], 2),
        "parked_ratio": round(median["plain"] / median["parked"], 2),
        "starter_import_s": import_s,
        "phases": {
            way.kind: {name: round(statistics.median(every), 3) for name, every in way.phases.items()}
            for way in (plain, warm)
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time restarts of an engine: plain, warm, parked.")
    parser.add_argument("--profile", default="demo")
    parser.add_argument("--set", action="append", default=[], metavar="LEVER=VALUE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write vtune.restart/1 here, - for stdout")
    words = parser.parse_args()
    result = asyncio.run(measure(words))
    text = json.dumps(result, indent=1)
    if words.json == "-":
        print(text)
    elif words.json:
        paths.write_whole(Path(words.json), text + "\n", mode=0o644)
    for kind in POLICIES:
        ratio = f", {result[f'{kind}_ratio']} times faster" if kind != "plain" else ""
        print(f"{kind}: {statistics.median(result[f'{kind}_s']):.2f} s{ratio}", file=sys.stderr)
    for kind, phases in result["phases"].items():
        print(f"{kind}: " + ", ".join(f"{name} {took:.2f} s" for name, took in phases.items()), file=sys.stderr)
    print(f"the starter imports once: {result['starter_import_s']} s", file=sys.stderr)
    print(f"a parked engine uses {result['parked_cpu_share'] * 100:.1f} % of a core", file=sys.stderr)


if __name__ == "__main__":
    main()
