import asyncio
from time import monotonic_ns

from tui.traffic.replay.timer import Timer


async def test_waits_end_in_order_of_time_and_never_early():
    timer, seen = Timer(), []

    async def wait(name, at):
        await timer.until(at)
        seen.append((name, monotonic_ns() - at))

    now = monotonic_ns()
    async with asyncio.timeout(30):
        waits = {"late": 60_000_000, "soon": 20_000_000, "past": -1, "mid": 40_000_000}
        await asyncio.gather(*(wait(name, now + after) for name, after in waits.items()))
    timer.close()
    assert [name for name, _ in seen] == ["past", "soon", "mid", "late"]
    assert all(late >= 0 for _, late in seen)


async def test_a_cancelled_wait_does_not_hold_up_the_others():
    timer = Timer()
    now = monotonic_ns()
    first = asyncio.create_task(timer.until(now + 10_000_000))
    second = asyncio.create_task(timer.until(now + 20_000_000))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(30):
        await second
    timer.close()
    assert first.cancelled()
