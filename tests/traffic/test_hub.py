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

    def fails(_):
        pairs["fails"][0].recv(1)
        raise ZeroDivisionError

    def closes(_):
        pairs["closes"][0].recv(1)
        readers.remove(pairs["closed"][0].fileno())

    readers.add(pairs["fails"][0].fileno(), fails)
    readers.add(pairs["closes"][0].fileno(), closes)
    readers.add(pairs["closed"][0].fileno(), lambda _: seen.append(pairs["closed"][0].recv(9)))
    readers.add(pairs["reads"][0].fileno(), lambda _: seen.append(pairs["reads"][0].recv(9)))
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


async def test_a_hastened_socket_is_read_before_many_others_and_then_as_they_are():
    readers, seen = hub(), []
    pairs = [socket.socketpair() for _ in range(64)]

    def reader(number):
        def read(later):
            if pairs[number][0].recv(1):
                seen.append(number)

        return read

    for number, (end, _) in enumerate(pairs):
        readers.add(end.fileno(), reader(number))
    hasty = pairs[-1][0].fileno()
    readers.hasten(hasty, True)
    for wanted in (True, False):
        readers.hasten(hasty, wanted)
        seen.clear()
        for _, other in pairs:
            other.send(b"x")
        async with asyncio.timeout(30):
            while len(seen) < len(pairs):
                await asyncio.sleep(0)
        assert (seen[0] == 63) is wanted and sorted(seen) == list(range(64))
    readers.hasten(hasty, True)
    for end, other in pairs:
        readers.remove(end.fileno())
        end.close()
        other.close()
    assert hub() is not readers
