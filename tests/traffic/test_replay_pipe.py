"""The tick pipe without a process: dropped ticks lose nothing."""

import asyncio
import json
import os

from tui.traffic.outcome import Outcome
from tui.traffic.replay.answer import Answer
from tui.traffic.replay.pipe import TickPipe
from tui.traffic.replay.progress import Progress


def ended(progress, id, **more):
    progress.finish(Outcome(id, None, "ok", 0.0, **more), Answer(progress.content), 10)


async def test_dropped_ticks_are_counted_and_what_they_had_comes_again():
    reading, writing = os.pipe()
    progress = Progress(1000)
    pipe = TickPipe(writing, progress)
    told = 0
    while not pipe.dropped:  # nobody reads, so the pipe fills at some point
        ended(progress, f"r{told}", error_kind=None)
        told += 1
        pipe.tick()
    ended(progress, "last")
    drained = asyncio.create_task(pipe.say({"end": {}}))
    data = b""
    while not drained.done():
        await asyncio.sleep(0)
        os.set_blocking(reading, False)
        try:
            data += os.read(reading, 1 << 20)
        except BlockingIOError:
            continue
    pipe.tick()
    data += os.read(reading, 1 << 20)
    rows = [json.loads(line) for line in data.splitlines()]
    ids = [f["id"] for row in rows for f in row.get("tick", {}).get("finished", ())]
    assert sorted(ids) == sorted([*(f"r{i}" for i in range(told)), "last"])
    assert rows[-1]["tick"]["dropped"] == pipe.dropped > 0
    assert {"end": {}} in rows


async def test_a_reader_that_is_gone_does_not_stop_the_run():
    reading, writing = os.pipe()
    pipe = TickPipe(writing, Progress(1))
    os.close(reading)
    pipe.tick()
    async with asyncio.timeout(30):
        await pipe.say({"end": {}})
    assert pipe.broken


async def test_only_the_oldest_256_are_shown():
    progress = Progress(1000)
    for number in range(300):
        progress.begin(f"r{number}", None, number, Answer(progress.content))
    tick = progress.tick(1000, 0)
    assert [state.id for state in tick.in_flight] == [f"r{i}" for i in range(256)]
    assert (tick.waiting, tick.running) == (300, 0)


def test_an_answer_that_waits_to_be_read_is_neither_running_nor_ended():
    progress = Progress(2, origin_ns=0)
    answers = [Answer(progress.content) for _ in range(2)]
    for number, answer in enumerate(answers):
        progress.begin(f"r{number}", None, 0, answer)
        answer.on_sent(5)
    assert (progress.tick(10, 0).running, len(progress.tick(10, 0).in_flight)) == (2, 2)
    progress.answered("r0")
    tick = progress.tick(10, 0)
    assert (tick.sent, tick.running, tick.waiting, tick.ok) == (2, 1, 0, 0)
    assert [one.id for one in tick.in_flight] == ["r1"]
    progress.finish(Outcome("r0", None, "ok", 0.0), answers[0], 10)
    tick = progress.tick(10, 0)
    assert (tick.sent, tick.running, tick.ok) == (2, 1, 1)
