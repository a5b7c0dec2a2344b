"""Many sockets behind one reader of the loop."""

import asyncio
import socket

from tui.traffic.http.hub import hub


async def test_a_reader_that_fails_or_is_taken_away_does_not_hold_up_the_others():
    readers = hub()
    pairs = {name: socket.socketpair() for name in ("fails", "closes", "closed", "reads")}
    told, seen = [], []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, told_of: told.append(told_of["exception"]))

    def fails():
        pairs["fails"][0].recv(1)
        raise ZeroDivisionError

    def closes():
        pairs["closes"][0].recv(1)
        readers.remove(pairs["closed"][0].fileno())

    readers.add(pairs["fails"][0].fileno(), fails)
    readers.add(pairs["closes"][0].fileno(), closes)
    readers.add(pairs["closed"][0].fileno(), lambda: seen.append(pairs["closed"][0].recv(9)))
    readers.add(pairs["reads"][0].fileno(), lambda: seen.append(pairs["reads"][0].recv(9)))
    for name in ("fails", "closes", "closed", "reads"):
        pairs[name][1].send(name.encode())
    async with asyncio.timeout(30):
        while b"reads" not in seen or not told:
            await asyncio.sleep(0)
    assert seen == [b"reads"] and isinstance(told[0], ZeroDivisionError)
    for name, ends in pairs.items():
        readers.remove(ends[0].fileno())
        for end in ends:
            end.close()
    assert hub() is not readers  # the last one took it along
