"""How long from *apply* to the first token: started plainly, and forked from the warm starter.

    python benchmarks/restart.py [--profile demo] [--set LEVER=VALUE]... [--rounds 3] [--json FILE|-]

Interleaved, so that a busy machine slows both alike. One figure runs from the moment a restart is asked for (an engine
is running and has to go first) to the first token of one fixed 16-token prompt; the command line is the same in all
but for the port. Writes vtune.restart/1. Parked engines are not measured yet, so their figures are empty.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from tui import paths
from tui.engine import command, health, install, profile, profile_set
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine
from tui.engine.warm import Starters

PROMPT = list(range(1000, 1016))  # 16 token ids, the same in every round


class Bench:
    """Restarts one engine over and over under one keeper."""

    def __init__(self, keeper: Keeper, folder: Path, words: argparse.Namespace) -> None:
        self._keeper = keeper
        self._folder = folder
        self._profile = profile_set.with_settings(profile.load(words.profile), words.set)
        self._install = install.find(self._profile.engine.python)
        self._starters = Starters(keeper, folder)
        self._running: Engine | None = None
        self._number = 0
        self.launch: Launch | None = None
        self.seconds: dict[str, list[float]] = {"plain": [], "warm": []}
        self.phases: dict[str, dict[str, list[float]]] = {"plain": {}, "warm": {}}

    async def import_once(self) -> float | None:
        """Bring the starter up; seconds that its imports took."""
        return (await self._starters.ready(self._next())).import_s

    async def restart(self, kind: str, *, count: bool = True) -> None:
        launch, warnings = self._next(), list[str]()
        begun = time.monotonic()
        if self._running is not None:
            await self._running.stop()
        warm = self._starters if kind == "warm" else None
        log = self._folder / f"engine-{self._number}.log"

        def hear(event: dict[str, Any]) -> None:
            if event["kind"] == "warning":
                warnings.append(event["text"])

        self._running = engine = Engine(launch, self._keeper, log, hear, warm=warm)
        await engine.start()
        await first_token(launch)
        took = time.monotonic() - begun
        if engine.start_kind != kind:
            sys.exit(f"asked for a {kind} start, got a {engine.start_kind} one: {'; '.join(warnings)}")
        print(f"{kind:5} {took:6.2f} s", file=sys.stderr, flush=True)
        if count:
            self.seconds[kind].append(round(took, 3))
            for name, seconds in engine.phases.seconds(engine.start_s or 0.0).items():
                self.phases[kind].setdefault(name, []).append(seconds)

    async def end(self) -> None:
        if self._running is not None:
            await self._running.stop()

    def _next(self) -> Launch:
        self._number += 1
        self.launch = command.build(self._profile, self._install, health.free_port())
        return self.launch


async def first_token(launch: Launch) -> None:
    body = {"model": launch.model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}
    async with httpx.AsyncClient(base_url=launch.url, trust_env=False, timeout=120) as client:
        answer = (await client.post("/v1/completions", json=body)).raise_for_status().json()
    assert answer["usage"]["prompt_tokens"] == len(PROMPT) and answer["usage"]["completion_tokens"] == 1


async def measure(words: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="vtune-restart-") as folder:
        keeper = await Keeper.open()
        bench = Bench(keeper, Path(folder), words)
        try:
            import_s = await bench.import_once()
            await bench.restart("warm", count=False)  # so that every counted restart has an engine to end
            for _ in range(words.rounds):
                await bench.restart("plain")
                await bench.restart("warm")
            await bench.end()
        finally:
            await keeper.close()
    assert bench.launch
    plain, warm = (statistics.median(bench.seconds[kind]) for kind in ("plain", "warm"))
    return {
        "schema": "vtune.restart/1",
        "argv": list(bench.launch.argv),
        "plain_s": bench.seconds["plain"],
        "warm_s": bench.seconds["warm"],
        "parked_s": [],
        "warm_ratio": round(plain / warm, 2),
        "parked_ratio": None,
        "starter_import_s": import_s,
        "phases": {
            kind: {name: round(statistics.median(all_s), 3) for name, all_s in phases.items()}
            for kind, phases in bench.phases.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time restarts of an engine, plain against warm.")
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
    seconds = ", ".join(f"{kind} {statistics.median(result[f'{kind}_s']):.2f} s" for kind in ("plain", "warm"))
    ratio, import_s = result["warm_ratio"], result["starter_import_s"]
    print(f"{seconds}: {ratio} times faster; imports once {import_s} s", file=sys.stderr)
    for kind, phases in result["phases"].items():
        print(f"{kind}: " + ", ".join(f"{name} {took:.2f} s" for name, took in phases.items()), file=sys.stderr)


if __name__ == "__main__":
    main()
