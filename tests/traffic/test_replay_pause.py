"""A replay that is paused, goes on, is idle, or begins again from the top."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from replaying import chat, replay, spec
from standin.fixture import serving
from test_replay_process import until

from tui.traffic.replay import Replay, read_outcomes


async def held(run, paused):
    tick, _ = await until(run, lambda tick: tick.paused is paused)
    return tick


@pytest.mark.parametrize("pace", ["recorded", "constant:20", "closed:2"])
async def test_nothing_is_sent_while_paused_and_the_rest_comes_after(tmp_path, pace):
    requests = [chat(f"r{i}", at=i * 0.05) for i in range(40)]
    async with serving() as standin:
        asked = spec(standin.url, tmp_path, requests, pace=pace)
        run = await Replay.start(asked)
        await until(run, lambda tick: tick.ok >= 3)
        await run.pause()
        await held(run, True)
        await until(run, lambda tick: tick.running == tick.waiting == 0)
        sent = len(standin.server.seen)
        await asyncio.sleep(0.6)
        assert len(standin.server.seen) == sent < 40
        await run.resume()
        await held(run, False)
        end = await run.wait()
    _, outcomes, _ = read_outcomes(Path(asked.out_path))
    assert (end.kind, end.ok) == ("done", 40)
    assert 0.6 <= end.fidelity["paused_s"] < 10
    # What was put off is due later, not late.
    assert max(o.sent_s - o.due_s for o in outcomes) < 0.5
    due = sorted(o.due_s for o in outcomes)
    assert max(later - earlier for earlier, later in pairwise(due)) >= 0.6


async def test_a_pause_does_not_shorten_the_think_time_after_an_answer(tmp_path):
    requests = [chat("a"), chat("b", after="a", think_s=0.5, at=0.01)]
    async with serving() as standin:
        asked = spec(standin.url, tmp_path, requests)
        run = await Replay.start(asked)
        await until(run, lambda tick: tick.ok == 1)
        await run.pause()
        await held(run, True)
        await asyncio.sleep(0.6)
        await run.resume()
        await run.wait()
    outcomes = {o.id: o for o in read_outcomes(Path(asked.out_path))[1]}
    assert outcomes["b"].due_s - (outcomes["a"].due_s + outcomes["a"].e2e_s) >= 1.0


@pytest.mark.parametrize("how", ["cancel", "drain"])
async def test_a_paused_replay_can_be_ended(tmp_path, how):
    async with serving() as standin:
        run = await Replay.start(spec(standin.url, tmp_path, [chat("a"), chat("b", at=60)]))
        await until(run, lambda tick: tick.ok == 1)
        await run.pause()
        await held(run, True)
        await getattr(run, how)()
        async with asyncio.timeout(30):
            end = await run.wait()
    assert end.kind in ("cancelled", "drained") and end.ok == 1


async def test_an_idle_gap_is_told_with_its_end(tmp_path):
    async with serving() as standin:
        run = await Replay.start(spec(standin.url, tmp_path, [chat("a"), chat("b", at=30)]))
        tick, _ = await until(run, lambda tick: tick.ok == 1 and tick.next_due_s is not None)
        assert tick.next_due_s == pytest.approx(30) and tick.at_s < 10
        await run.pause()
        assert (await held(run, True)).next_due_s is None  # nobody knows when it goes on
        await run.cancel()
        await run.wait()


@pytest.mark.parametrize("pace", ["recorded", "closed:2", "constant:50"])
async def test_a_loop_sends_all_again_with_ids_of_their_own(tmp_path, pace):
    requests = [chat("a"), chat("b", at=0.1, after="a"), chat("c", at=0.2)]
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, requests, loop=3, pace=pace)
        seen = [s["headers"]["x-request-id"] for s in standin.server.seen]
    ids = {f"{id}{n}" for id in "abc" for n in ("", "~2", "~3")}
    assert set(made.outcomes) == ids and len(set(seen)) == 9
    assert {o.status for o in made.outcomes.values()} == {"ok"} and made.end.total == 9 == made.header["total"]
    assert made.header["loop"] == 3
    if pace == "recorded":
        assert [round(made.outcomes[f"c{n}"].due_s, 3) for n in ("", "~2", "~3")] == [0.2, 0.5, 0.8]
    for n in ("", "~2", "~3"):  # each turn waits for the answer of its own pass
        first = made.outcomes[f"a{n}"]
        assert made.outcomes[f"b{n}"].due_s >= first.due_s + first.e2e_s
