"""The replay as a process: ticks, stopping, dying."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from replaying import chat, spec
from standin.fixture import serving

from tui.traffic.replay import Replay, read_outcomes

SLOW = {"STANDIN_STEP_MS": "20"}
HANG = {"hang_after": 2}


async def until(replay, wanted):
    """Ticks until `wanted(tick)`; returns the finished so far."""
    finished = []
    async with asyncio.timeout(20):
        async for tick in replay.ticks():
            finished += tick.finished
            if wanted(tick):
                return tick, finished
    raise AssertionError("the replay ended first")


async def test_ticks_tell_every_request_once_and_the_state_between(tmp_path):
    requests = [chat(f"r{i}", at=i * 0.05, group="g") for i in range(20)]
    async with serving(env=SLOW) as standin:
        run = await Replay.start(spec(standin.url, tmp_path, requests))
        ticks = [tick async for tick in run.ticks()]
        end = await run.wait()
    finished = [f for tick in ticks for f in tick.finished]
    assert sorted(f.id for f in finished) == sorted(r.id for r in requests)
    assert all(f.ttft_s and f.group == "g" and f.output_tokens for f in finished)
    shown = [state for tick in ticks for state in tick.in_flight]
    assert any(state.first_s is not None and state.sent_s is not None for state in shown)
    last = ticks[-1]
    assert (last.total, last.sent, last.ok, last.running, last.waiting, last.in_flight) == (20, 20, 20, 0, 0, ())
    assert last.output_tokens == sum(f.output_tokens for f in finished)
    assert all(a.sent <= b.sent and a.content_chunks <= b.content_chunks for a, b in pairwise(ticks))
    assert (end.kind, end.total, end.sent, end.ok) == ("done", 20, 20, 20)


async def test_a_consumer_that_comes_late_loses_no_finished(tmp_path):
    async with serving() as standin:
        run = await Replay.start(spec(standin.url, tmp_path, [chat(f"r{i}", at=i * 0.02) for i in range(30)]))
        await run.wait()
        finished = [f.id for tick in [t async for t in run.ticks()] for f in tick.finished]
    assert sorted(finished) == sorted(f"r{i}" for i in range(30))


async def test_cancel_closes_what_runs_and_keeps_what_ended(tmp_path):
    requests = [chat("done"), chat("hangs", faults=HANG), chat("later", at=60)]
    async with serving() as standin:
        asked = spec(standin.url, tmp_path, requests)
        run = await Replay.start(asked)
        await until(run, lambda tick: tick.ok == 1 and tick.content_chunks >= 10)
        await run.cancel()
        end = await run.wait()
        async with asyncio.timeout(30):
            while not standin.server.aborted:
                await asyncio.sleep(0.01)
    _, outcomes, line = read_outcomes(Path(asked.out_path))
    status = {o.id: o.status for o in outcomes}
    assert status == {"done": "ok", "hangs": "cancelled"}
    assert (end.kind, end.ok, end.cancelled, end.total) == ("cancelled", 1, 1, 3)
    assert line["kind"] == "cancelled"
    hung = next(o for o in outcomes if o.id == "hangs")
    assert hung.chunks == 2 and hung.ttft_s  # what had come is kept


@pytest.mark.parametrize("pace", ["recorded", "closed:1"])
async def test_drain_lets_what_runs_end_and_starts_nothing(tmp_path, pace):
    requests = [chat("runs", max_tokens=24), chat("later", at=60), chat("turn", after="runs", at=0.1, think_s=60)]
    async with serving(env=SLOW) as standin:
        asked = spec(standin.url, tmp_path, requests, pace=pace)
        run = await Replay.start(asked)
        await until(run, lambda tick: tick.content_chunks >= 1)
        await run.drain()
        end = await run.wait()
    _, outcomes, _ = read_outcomes(Path(asked.out_path))
    assert [(o.id, o.status) for o in outcomes] == [("runs", "ok")]
    assert (end.kind, end.ok, end.cancelled) == ("drained", 1, 0)


async def test_cancel_after_drain_ends_a_drain_that_hangs(tmp_path):
    async with serving() as standin:
        run = await Replay.start(spec(standin.url, tmp_path, [chat("hangs", faults=HANG)]))
        await until(run, lambda tick: tick.content_chunks >= 2)
        await run.drain()
        await run.cancel()
        end = await run.wait()
    assert (end.kind, end.cancelled) == ("cancelled", 1)


async def test_fail_fast_stops_at_the_first_failure(tmp_path):
    requests = [chat("hangs", faults=HANG), chat("bad", at=0.1, faults={"status": 500}), chat("later", at=60)]
    async with serving() as standin:
        end = await (await Replay.start(spec(standin.url, tmp_path, requests, fail_fast=True))).wait()
    assert (end.kind, end.failed, end.cancelled) == ("failed-fast", 1, 1)


async def test_a_killed_child_is_its_own_kind_and_its_lines_stay(tmp_path):
    async with serving() as standin:
        asked = spec(standin.url, tmp_path, [chat("done"), chat("hangs", faults=HANG)])
        run = await Replay.start(asked)
        await until(run, lambda tick: tick.ok == 1)
        os.kill(run.pid, signal.SIGKILL)
        end = await run.wait()
        async with asyncio.timeout(30):
            assert all(tick.running for tick in [t async for t in run.ticks()])
    assert (end.kind, end.ok, end.fidelity) == ("died", 1, {})
    assert "9" in end.error
    header, outcomes, line = read_outcomes(Path(asked.out_path))
    assert [o.id for o in outcomes] == ["done"] and line is None and header["total"] == 2


async def test_ctrl_c_does_not_reach_the_child(tmp_path):
    async with serving() as standin:
        run = await Replay.start(spec(standin.url, tmp_path, [chat("a", at=0), chat("b", at=0.4)]))
        os.kill(run.pid, signal.SIGINT)
        assert os.getsid(run.pid) == run.pid  # the terminal's ctrl+c goes to another session
        end = await run.wait()
    assert (end.kind, end.ok) == ("done", 2)


PARENT = """
import asyncio, json, sys
from tui.traffic.replay import Replay, ReplaySpec
async def main():
    run = await Replay.start(ReplaySpec(**json.loads(sys.argv[1])))
    print(run.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_child_does_not_outlive_its_parent(tmp_path, number):
    async with serving() as standin:
        asked = spec(standin.url, tmp_path, [chat("hangs", faults=HANG)])
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PARENT, json.dumps(asked.to_json()), stdout=subprocess.PIPE
        )
        child = int(await parent.stdout.readline())
        parent.send_signal(number)
        await parent.wait()
        async with asyncio.timeout(30):
            while _alive(child):
                await asyncio.sleep(0.01)
    _, outcomes, _ = read_outcomes(Path(asked.out_path))
    assert {o.status for o in outcomes} <= {"cancelled"}


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_suspended_parent_costs_ticks_but_no_results(tmp_path):
    """The parent stops for a while: the pipe fills, ticks are dropped, and what ended is told all the same."""
    requests = [chat(f"r{i:03}", at=i * 0.01, words="x" * 10) for i in range(300)]
    code = PARENT.replace("await asyncio.Event().wait()", _COLLECT)
    async with serving() as standin:
        asked = spec(standin.url, tmp_path, requests, keep_text=False)
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, json.dumps(asked.to_json()), stdout=subprocess.PIPE
        )
        await parent.stdout.readline()
        parent.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(30):
            while read_outcomes(Path(asked.out_path))[2] is None:
                await asyncio.sleep(0.05)
            parent.send_signal(signal.SIGCONT)
            told = json.loads(await parent.stdout.readline())
            await parent.wait()
    assert sorted(told["ids"]) == [r.id for r in requests]
    assert told["kind"] == "done"


_COLLECT = """
    ids = [f.id async for tick in run.ticks() for f in tick.finished]
    print(json.dumps({"ids": ids, "kind": (await run.wait()).kind}), flush=True)
"""


async def test_a_run_without_a_reader_never_waits_for_one(tmp_path):
    async with serving() as standin:
        run = await Replay.start(spec(standin.url, tmp_path, [chat("a")]))
        async with asyncio.timeout(10):
            end = await run.wait()
    assert end.ok == 1 and end.fidelity["clock"] in ("kernel", "user")


async def test_the_child_starts_without_the_screen_and_the_rest(tmp_path):
    code = "import sys; import tui.traffic.replay.child; print(' '.join(sorted(sys.modules)))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
    modules = (await process.communicate())[0].decode().split()
    foreign = {"textual", "plotext", "httpx", "numpy", "yaml", "vllm", "prometheus_client", "tui.session", "tui.engine"}
    assert not foreign & set(modules)
    assert "tui.traffic.replay.child" in modules


def test_a_spec_survives_its_journey():
    from tui.traffic.replay import ReplaySpec

    asked = ReplaySpec("http://h", None, "r", "o", limit=3, cache_salt="s")
    assert ReplaySpec(**json.loads(json.dumps(asked.to_json()))) == asked == replace(asked)
