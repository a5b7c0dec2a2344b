"""What the doctor predicts, written down first, is what the real engine then reaches: minutes, so in test-all."""

import asyncio
import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import real

from tui.engine.keeper import Keeper
from tui.engine.process import Engine
from tui.traffic import recording
from tui.traffic.importers import Options, import_file
from tui.traffic.recording import Request

pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(900)]
SAMPLE = Path(__file__).parents[3] / "shared/traces/samples/rag/DERIVED_mtragun_as_chat_requests.jsonl"
POINT = 0.01


@contextlib.asynccontextmanager
async def engine(folder: Path, *settings: str):
    """The URL of the demo's engine, started by its own process classes."""
    launch = real.launch(*settings)
    keeper = await Keeper.open()
    started = Engine(launch, keeper, folder / "engine-1.log", lambda event: None)
    try:
        await started.start()
        yield launch.url
    finally:
        await started.stop()
        await keeper.close()


async def vtune(*words: object) -> None:
    """A command line, as a user gives it; signals belong to its own process."""
    command_line = [sys.executable, "-m", "tui", *map(str, words)]
    process = await asyncio.create_subprocess_exec(*command_line, stderr=asyncio.subprocess.PIPE)
    _, words_told = await process.communicate()
    assert process.returncode == 0, words_told.decode()[-2000:]


async def predicted(url: str, traffic: object, out: Path, *more: object) -> dict:
    await vtune("inspect", traffic, "--url", url, "--json", out, *more)
    result = json.loads(out.read_text())
    assert result["tokens"] == "exact"
    return result


def in_the_pool(result: dict) -> float:
    """The predicted rate with the KV pool that the engine has."""
    [rate] = [pool["hit_rate"] for pool in result["capacity"] if pool["engine"]]
    return rate


async def achieved(url: str, traffic: object, out: Path) -> float:
    """Hit rate of a replay, one request after another, by the engine's own counters."""
    await vtune("replay", traffic, "--url", url, "--pace", "closed:1", "--json", out)
    result = json.loads(out.read_text())
    assert result["requests"]["failed"] == 0 and result["cache_reset"] == "done"
    rates = result["prefix_cache"]
    assert rates["hit_rate"] == pytest.approx(rates["client_hit_rate"], abs=POINT)
    return rates["hit_rate"]


async def test_of_the_handbook(tmp_path):
    async with engine(tmp_path) as url:
        before = in_the_pool(await predicted(url, "rag-handbook", tmp_path / "predicted.json"))
        assert before > 0.5
        assert await achieved(url, "rag-handbook", tmp_path / "run.json") == pytest.approx(before, abs=POINT)


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the shared traces are not beside this checkout")
async def test_of_another_rags_traffic(tmp_path):
    """Its system prompt is shorter than a CPU block; the smallest that the CPU takes shows what it shares."""
    imported, short = tmp_path / "imported.jsonl", tmp_path / "short.jsonl"
    import_file(SAMPLE, imported, Options())
    loaded = recording.load(imported)
    # Prompts alone decide what is reused, and a token is enough of an answer.
    rows = [replace(request, body={**request.body, "max_tokens": 1}, reply=None) for request in loaded.requests]
    recording.write(short, loaded.header, rows)
    async with engine(tmp_path, "block-size=32") as url:
        before = in_the_pool(await predicted(url, short, tmp_path / "predicted.json"))
        assert before > POINT
        assert await achieved(url, short, tmp_path / "run.json") == pytest.approx(before, abs=POINT)


def broken(request: Request, number: int) -> Request:
    """Its instructions begin with the time of day, as they do where a template puts it first."""
    system, *rest = request.body["messages"]
    stamped = {**system, "content": f"It is 2026-03-02 09:{number:02d}:{7 * number % 60:02d}. {system['content']}"}
    return replace(request, body={**request.body, "messages": [stamped, *rest], "max_tokens": 1}, reply=None)


async def test_of_a_broken_prefix_and_of_its_mend(tmp_path):
    asked = [request for request in recording.load("rag-handbook").requests if request.group == "ask"][:7]
    rows = [broken(replace(request, after=None), number) for number, request in enumerate(asked)]
    traffic, mended = tmp_path / "broken.jsonl", tmp_path / "mended.jsonl"
    recording.write(traffic, {"name": "broken", "synthetic": True}, rows)
    async with engine(tmp_path) as url:
        result = await predicted(url, traffic, tmp_path / "predicted.json", "--rewrite", mended)
        worst = result["breaks"][0]
        assert worst["kind"] == "time" and "09:0" in worst["quote"] and worst["where"].startswith("message 0 (system)")
        assert await achieved(url, traffic, tmp_path / "run-1.json") == pytest.approx(in_the_pool(result), abs=POINT)
        reached = await achieved(url, mended, tmp_path / "run-2.json")
    assert reached == pytest.approx(result["ceiling_if_all_mended"], abs=POINT)
    assert reached > result["ceiling"] + 0.3
