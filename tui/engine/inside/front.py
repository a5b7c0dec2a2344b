"""The front: one address that stays, while engines behind it come and go.

Run as ``python -I front.py HOST PORT HOLD_S``. Each line on stdin says what stands behind it now, as JSON:
{"serve": [HOST, PORT]}, {"wait": true} while an engine is starting, {"serve": null} where there is none. stdout gets
one line, {"listening": PORT} or {"refused": TEXT}. The end of stdin, or a signal, ends it.

Bytes are passed on unread: a connection belongs to the engine that served when its first bytes came. While an engine
starts, new connections are held, up to HOLD_S seconds; where there is none, they are answered 503. When the engine
changes, kept-alive connections to the one before are closed, those that still get an answer when they have it.

Stdlib only, Python 3.9 syntax, one thread.
"""

import asyncio
import json
import os
import resource
import signal
import sys
from typing import Any, Callable, Dict, Optional, Set, Tuple

QUIET_S = 1.0  # an answer that has a length, not chunks, counts as whole after so long without a byte
LAST_CHUNK = b"\r\n0\r\n\r\n"
CONNECT_S = 5.0
REQUEST_S = 5.0  # for the head of a request that is answered 503
MOST = 1024  # connections at a time; a held one costs a descriptor
CHUNK = 1 << 16

Address = Tuple[str, int]


class Front:
    def __init__(self, hold_s: float) -> None:
        self.hold_s = hold_s
        self.behind: Optional[Address] = None
        self.starting = False
        self.changed = asyncio.Event()
        self.links: Set["Link"] = set()
        self.open = 0

    def told(self, message: Dict[str, Any]) -> None:
        address = message.get("serve")
        self.behind = (str(address[0]), int(address[1])) if address else None
        self.starting = bool(message.get("wait"))
        self.changed.set()
        self.changed = asyncio.Event()
        for link in list(self.links):
            if link.behind != self.behind:
                link.leave()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            if self.open > MOST:
                return
            await self.connect(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection that says nothing yet holds no place at an engine."""
        first = await reader.read(CHUNK)
        if not first:
            return
        found = await self.reach()
        if found is None:
            await refuse(first, reader, writer, self.starting)
            return
        link = Link(found[0], writer, found[2])
        self.links.add(link)
        try:
            await link.carry(first, reader, found[1])
        finally:
            self.links.discard(link)

    async def reach(self) -> Optional[Tuple[Address, asyncio.StreamReader, asyncio.StreamWriter]]:
        """The engine that serves, waited for while one starts; None where there is none in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.hold_s
        while True:
            changed, behind = self.changed, self.behind
            if behind is not None:
                try:
                    reader, writer = await asyncio.wait_for(asyncio.open_connection(*behind), CONNECT_S)
                    return behind, reader, writer
                except (OSError, asyncio.TimeoutError):
                    if changed is self.changed:
                        return None
                    continue  # another one serves by now
            if not self.starting:
                return None
            try:
                await asyncio.wait_for(changed.wait(), max(0.0, deadline - loop.time()))
            except asyncio.TimeoutError:
                return None


class Link:
    """One connection of a client, and its connection to the engine at `behind`."""

    def __init__(self, behind: Address, client: asyncio.StreamWriter, engine: asyncio.StreamWriter) -> None:
        self.behind = behind
        self.client = client
        self.engine = engine
        self.leaving = False
        self.asked = True  # the last bytes were the client's
        self.chunked = False
        self.tail = b""
        self.moved = 0.0  # when the engine last sent a byte

    async def carry(self, first: bytes, client: asyncio.StreamReader, engine: asyncio.StreamReader) -> None:
        self.engine.write(first)
        up = asyncio.ensure_future(self.copy(client, self.engine, self.asks))
        try:
            # The client's half-close is passed on, and its answer still comes; the engine's end is the end.
            await self.copy(engine, self.client, self.answers)
        finally:
            up.cancel()
            self.engine.close()

    async def copy(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, note: Callable[[bytes], None]
    ) -> None:
        try:
            while True:
                data = await source.read(CHUNK)
                if not data:
                    break
                note(data)
                sink.write(data)
                await sink.drain()
                if self.leaving:
                    self.look()
            if sink.can_write_eof():
                sink.write_eof()
        except OSError:
            self.close()

    def asks(self, data: bytes) -> None:
        self.asked = True

    def answers(self, data: bytes) -> None:
        if self.asked:
            self.asked, self.tail = False, b""
            self.chunked = b"transfer-encoding: chunked" in data[:4096].lower()
        self.tail = (self.tail + data[-len(LAST_CHUNK) :])[-len(LAST_CHUNK) :]
        self.moved = asyncio.get_running_loop().time()

    def leave(self) -> None:
        """The engine was replaced: close now, or after the answer that is under way."""
        if not self.leaving:
            self.leaving = True
            self.look()

    def look(self) -> None:
        if self.asked or self.engine.is_closing():
            return
        loop = asyncio.get_running_loop()
        quiet = loop.time() - self.moved
        if self.tail == LAST_CHUNK or (not self.chunked and quiet >= QUIET_S):
            self.close()
        elif not self.chunked:
            loop.call_later(QUIET_S - quiet + 0.01, self.look)

    def close(self) -> None:
        self.client.close()
        self.engine.close()


async def refuse(first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, starting: bool) -> None:
    """Take the whole head, for a client that is still writing would see a reset instead of the answer."""
    head = first
    try:
        while b"\r\n\r\n" not in head and len(head) < CHUNK:
            data = await asyncio.wait_for(reader.read(CHUNK), REQUEST_S)
            if not data:
                break
            head += data
    except asyncio.TimeoutError:
        pass
    what = "the engine behind this address is still starting" if starting else "no engine serves behind this address"
    error = {"message": f"{what}; try again", "type": "ServiceUnavailableError", "param": None, "code": 503}
    body = json.dumps({"error": error}).encode()
    lines = (
        "HTTP/1.1 503 Service Unavailable",
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"retry-after: {5 if starting else 30}",
        "connection: close",
    )
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    try:  # what is left of the request is read, so that the answer is not lost in a reset
        while await asyncio.wait_for(reader.read(CHUNK), 1.0):
            pass
    except (OSError, asyncio.TimeoutError):
        pass


async def listen_to_owner(front: Front) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while True:
        line = await reader.readline()
        if not line:
            return
        front.told(json.loads(line))


def raise_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        pass


async def run(host: str, port: int, hold_s: float) -> int:
    raise_file_limit()
    front = Front(hold_s)
    try:
        server = await asyncio.start_server(front.serve, host, port)
    except OSError as error:
        say({"refused": os.strerror(error.errno) if error.errno else str(error)})
        return 1
    say({"listening": port})
    owner = asyncio.ensure_future(listen_to_owner(front))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, owner.cancel)
    await asyncio.wait({owner})
    server.close()
    for link in list(front.links):
        link.close()
    return 0


def say(message: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    code = asyncio.run(run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
    os._exit(code)  # held connections are nobody's any more
