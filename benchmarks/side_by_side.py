"""Two engines alive at once, asked in turn: what differs between two ways of starting the same arm.

    python benchmarks/side_by_side.py [--profile demo] [--set LEVER=VALUE]... --a SETTING --b SETTING [--pairs 10]
                                      [--prompt-tokens 1000] [--max-tokens 32] [--json FILE|-]

    --a engine.warm=off --b engine.warm=on       is a forked engine the same engine?
    --a engine.warm=off --b engine.warm=off      the control: two launches of one kind
    --b engine.env.LD_PRELOAD=/path/libiomp5.so  another OpenMP

Each pair sends the same prompt, never seen before, to both, first to the one, then to the other, turn about, so that a
busy machine slows both alike. Prints TTFT, TPOT and their ratio b / a, pair by pair: median, lowest and highest.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx

from tui import paths
from tui.engine import command, health, install, profile, profile_set
from tui.session.host import Host, Policy

# Repeated words, so that a speculating arm has something to guess; the salt in front keeps every prompt cold.
TEXT = "Copy this list as it is: apples, pears, plums, cherries, quinces, medlars, figs, dates. "


class Side:
    def __init__(self, name: str, words: argparse.Namespace, setting: str | None, home: Path) -> None:
        self.name = name
        self.arm = profile_set.with_settings(profile.load(words.profile), [*words.set, *([setting] if setting else [])])
        self.ttft_s: list[float] = []
        self.tpot_s: list[float] = []
        self._home = home / name
        self._home.mkdir()

    async def start(self, stack: AsyncExitStack, client: httpx.AsyncClient) -> None:
        told: list[str] = []
        policy = Policy(warm=self.arm.engine.warm, park=0)
        host = Host(lambda kind, **values: told.append(str(values.get("text", ""))), self._home, client, policy)
        stack.push_async_callback(host.close)
        launch = command.build(self.arm, install.find(self.arm.engine.python), health.free_port())
        await host.switch(launch, "side-by-side")
        assert host.launch and host.engine
        self.launch, self.kind = host.launch, host.engine.start_kind
        await self.ask("warm-up " + TEXT * 20, 8, count=False)

    async def ask(self, prompt: str, max_tokens: int, count: bool = True) -> None:
        """One streamed answer; nothing else runs, so httpx measures well enough for a ratio."""
        body = {
            "model": self.launch.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
            "ignore_eos": True,
            "min_tokens": max_tokens,
        }
        begun, first, last = time.monotonic(), 0.0, 0.0
        async with httpx.AsyncClient(base_url=self.launch.url, trust_env=False, timeout=300) as client:
            async with client.stream("POST", "/v1/completions", json=body) as answer:
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    if line.startswith("data: {"):
                        last = time.monotonic()
                        first = first or last
        if count:
            self.ttft_s.append(first - begun)
            self.tpot_s.append((last - first) / (max_tokens - 1))


async def measure(words: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(words.seed)
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vtune-beside-")))
        client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=60))
        sides = [Side("a", words, words.a, home), Side("b", words, words.b, home)]
        for side in sides:
            await side.start(stack, client)
        # about 26 tokens in a repetition of TEXT
        for number in range(words.pairs):
            prompt = f"{chance.getrandbits(64):x} " + TEXT * max(1, words.prompt_tokens // 26)
            for side in sides if number % 2 == 0 else reversed(sides):
                await side.ask(prompt, words.max_tokens)
            print(f"pair {number + 1} of {words.pairs}", file=sys.stderr, flush=True)
    return {
        "pairs": words.pairs,
        "seed": words.seed,
        "sides": [
            {
                "name": side.name,
                "setting": setting,
                "start_kind": side.kind,
                "ttft_s": side.ttft_s,
                "tpot_s": side.tpot_s,
            }
            for side, setting in zip(sides, (words.a, words.b))
        ],
    }


def told(result: dict[str, Any]) -> None:
    a, b = result["sides"]
    for side in (a, b):
        print(
            f"{side['name']}: {side['setting'] or 'as the profile has it'}, {side['start_kind']} start: "
            f"TTFT {statistics.median(side['ttft_s']):.3f} s, TPOT {statistics.median(side['tpot_s']) * 1000:.1f} ms"
        )
    for name in ("ttft_s", "tpot_s"):
        ratios = sorted(after / before for before, after in zip(a[name], b[name]))
        print(f"{name} b / a: {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description="Two engines side by side: does the way they start make a difference?")
    parser.add_argument("--profile", default="demo")
    parser.add_argument("--set", action="append", default=[], metavar="LEVER=VALUE", help="for both")
    parser.add_argument("--a", metavar="SETTING", help="for the first engine alone, in the words of --set")
    parser.add_argument("--b", metavar="SETTING", help="for the second engine alone")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--prompt-tokens", type=int, default=1000)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    words = parser.parse_args()
    result = asyncio.run(measure(words))
    told(result)
    if words.json == "-":
        print(json.dumps(result, indent=1))
    elif words.json:
        paths.write_whole(Path(words.json), json.dumps(result, indent=1) + "\n", mode=0o644)


if __name__ == "__main__":
    main()
