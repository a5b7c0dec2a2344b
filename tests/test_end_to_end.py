"""The main job on the real engine, through the screen: start, replay, toggle, replay, export.

One session on vLLM with the bundled model. What a number should be is asked of the engine itself: its counters
against its answers, its configuration against what was asked.
"""

import asyncio
import difflib
import time
from pathlib import Path

import pytest
import real

from tui.app import VtuneApp
from tui.engine import device
from tui.session import report, state
from tui.session.late import LateSession
from tui.session.traffic import traffic_of

REQUESTS = 5  # of 2,000 tokens: the fourth and fifth find most of theirs
START_S = 240.0
RUN_S = 240.0

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def demo():
    """Prompts that warm up are of the budget's length: of 2,048 tokens they take a slow CPU a minute and more."""
    return real.demo("chunked-prefill=512")


async def until(pilot, wanted, seconds):
    """Let the app run until `wanted(snapshot)`; the engine's own failure ends the wait at once."""
    deadline = time.monotonic() + seconds
    while not wanted(pilot.app._newest):
        engine = pilot.app._newest.engine
        assert engine.state not in ("failed", "died"), engine.failure
        assert time.monotonic() < deadline, pilot.app._newest
        await pilot.pause(0.1)
    return pilot.app._newest


async def test_start_replay_toggle_replay_export(demo, tmp_path):
    traffic = traffic_of(demo, "rag-handbook", pace="closed:1", limit=REQUESTS)
    session = LateSession(demo, traffic, tmp_path / "session")
    app = VtuneApp(session)
    async with app.run_test(size=(160, 48)) as pilot:
        seen = await until(pilot, lambda s: s.engine.state == "ready", START_S)
        assert {"import", "weights", "KV cache"} <= {phase.name for phase in seen.engine.phases}
        assert seen.engine.kv_cache_tokens and seen.engine.block_size == 128 and not seen.engine.mismatches

        await pilot.press("r")
        seen = await until(pilot, lambda s: len(s.runs) == 1, RUN_S)
        await pilot.press("space")
        await until(pilot, lambda s: bool(s.pending), 5)
        await pilot.press("a")
        await until(pilot, lambda s: s.engine.state == "ready" and not s.pending, START_S)
        await pilot.press("r")
        seen = await until(pilot, lambda s: len(s.runs) == 2, RUN_S)
        await pilot.press("e")
        async with asyncio.timeout(30):
            while not (tmp_path / "session" / "report.md").exists():
                await pilot.pause(0.1)
        pids = session._session.host.engine.pids()
        await pilot.press("q")
        async with asyncio.timeout(30):
            while app.is_running:
                await pilot.pause(0.1)
    check_runs(seen.runs[0].result, seen.runs[1].result, seen.runs[1].ratios)
    check_folder(tmp_path / "session")
    assert pids and not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def check_runs(on, off, ratios):
    """Prefix caching on, then off: the same requests, hits that the engine and its answers agree on, and a gain."""
    assert on["requests"]["ok"] == off["requests"]["ok"] == REQUESTS
    assert (on["engine"]["applied"]["prefix-caching"], off["engine"]["applied"]["prefix-caching"]) == ("on", "off")
    assert off["label"] == "prefix-caching off"
    hits = on["prefix_cache"]
    assert hits["state"] == "on" and hits["hit_rate"] > 0.2
    assert abs(hits["hit_rate"] - hits["client_hit_rate"]) < 0.01
    assert hits["hit_rate"] <= hits["ceiling"] + 0.01
    assert off["prefix_cache"]["state"] == "off" and off["prefix_cache"]["hit_rate"] is None
    kv = on["kv_cache"]
    assert kv["residency"] is not None and kv["partial_blocks"]["share"] > 0
    fp8 = [row["tokens"] for row in kv["would_hold"] if row["value"] == "fp8"]
    assert bool(fp8) is not device.slow_at_16_bits()  # without AVX-512 there is none
    assert all(2 * kv["tokens"] <= tokens <= 2 * (kv["tokens"] + kv["block_size"]) for tokens in fp8)
    assert on["prefix_cache"]["lost"]["evicted_tokens"] == 0  # the pool holds all of it
    assert on["ttft_s"]["warm"]["n"] >= 2
    assert ratios["ttft_s.warm.p50"] > 1.5
    assert on["speculative"]["state"] == "off" and on["speculative"]["acceptance_rate"] is None
    assert on["fidelity"]["send_lag_s"]["max"] < 0.5


def check_folder(folder):
    """The report and a reopened session say the same as the live one did."""
    told = state.load(folder)
    assert told.closed and [run.label for run in told.runs.values()] == ["baseline", "prefix-caching off"]
    text = (folder / "report.md").read_text()
    for word in ("prefix-caching off", "--no-enable-prefix-caching", "vtune replay rag-handbook", "cold", "warm"):
        assert word in text, word
    again = report.documents([folder])
    assert not list(difflib.unified_diff(text.splitlines(), again["report.md"].splitlines(), lineterm="", n=0))
    assert len(again) == 3 and all((folder / name).read_text() == written for name, written in again.items())
