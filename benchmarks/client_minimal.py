"""One measured client in a process of its own: ``replay`` (the product's whole path), or ``httpx`` or ``aiohttp`` as
their documentation shows them. The last two run in an interpreter that has only that library.

``python client_minimal.py CLIENT URL OUT JSON``, where JSON has streams, requests, tokens, rate (requests/s or null).
OUT gets {"rows": [[start, TTFT] in ns of CLOCK_MONOTONIC, ...], "told": {...}}, in order of starting.
"""

import asyncio
import gc
import json
import sys
from time import monotonic_ns

BODY = {"model": "made", "messages": [{"role": "user", "content": "Write a story about a lighthouse keeper. " * 4}]}


async def by_replay(url, out, streams, requests, tokens, rate):
    from pathlib import Path

    from tui.traffic import recording
    from tui.traffic.recording import Request
    from tui.traffic.replay import Replay, ReplaySpec, read_outcomes

    path = Path(f"{out}.recording.jsonl")
    # An answer's chunks are counted by what was asked, so the recording is as long as the run.
    rows = (Request(f"r{i}", 0.0, "/v1/chat/completions", {**BODY, "max_tokens": tokens}) for i in range(requests))
    recording.write(path, {"name": "made", "synthetic": True}, rows)
    began = monotonic_ns()
    pace = f"constant:{rate}" if rate else f"closed:{streams}"
    run = await Replay.start(ReplaySpec(url, None, str(path), f"{out}.run", pace=pace, keep_text=False))
    end = await run.wait()
    header, outcomes, _ = read_outcomes(Path(f"{out}.run"))
    assert end.ok == requests, (end, [o.error for o in outcomes if o.error][:1])
    sent = sorted((o.sent_s, o.ttft_s - (o.sent_s - o.due_s)) for o in outcomes)
    told = {"began": began, **end.fidelity}
    return [[int(at * 1e9), int(ttft * 1e9)] for at, ttft in sent], told


class _Httpx:
    def __init__(self, url):
        import httpx

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self.client, self.url = httpx.AsyncClient(timeout=None, limits=limits, trust_env=False), url

    async def lines(self, body):
        async with self.client.stream("POST", self.url, json=body) as answer:
            async for line in answer.aiter_lines():
                yield line


class _Aiohttp:
    def __init__(self, url):
        import aiohttp

        connector, limit = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
        self.client, self.url = aiohttp.ClientSession(connector=connector, timeout=limit), url

    async def lines(self, body):
        async with self.client.post(self.url, json=body) as answer:
            async for line in answer.content:
                yield line.decode()


async def by_library(kind, url, streams, requests, tokens, rate):
    made = kind(f"{url}/v1/chat/completions")
    body = {**BODY, "max_tokens": tokens, "stream": True}
    rows = []

    async def one():
        sent, first = monotonic_ns(), 0
        async for line in made.lines(body):
            at = monotonic_ns()
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                if choices and choices[0]["delta"].get("content"):
                    first = first or at
        rows.append([sent, first - sent])

    numbers = iter(range(requests))

    async def worker():
        for _ in numbers:
            await one()

    gc.disable()
    if rate:
        begin, tasks = asyncio.get_running_loop().time(), []
        for number in numbers:
            await asyncio.sleep(begin + number / rate - asyncio.get_running_loop().time())
            tasks.append(asyncio.create_task(one()))
        await asyncio.gather(*tasks)
    else:
        await asyncio.gather(*(worker() for _ in range(streams)))
    await (made.client.aclose() if kind is _Httpx else made.client.close())
    return sorted(rows), {}


if __name__ == "__main__":
    client, url, out, asked = sys.argv[1:]
    if client == "replay":
        rows, told = asyncio.run(by_replay(url, out, **json.loads(asked)))
    else:
        rows, told = asyncio.run(by_library({"httpx": _Httpx, "aiohttp": _Aiohttp}[client], url, **json.loads(asked)))
    with open(out, "w") as file:
        json.dump({"rows": rows, "told": told}, file)
