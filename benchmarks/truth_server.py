"""A streaming server that knows the truth: when each request was received and each first token written.

It answers ``POST`` with `max_tokens` chat chunks, the first after --ttft-ms, then one each --itl-ms; with 0 and 0 as
fast as it can. ``GET /truth`` gives, and forgets, ``{request id: [received, first written]}`` in CLOCK_MONOTONIC ns.
"""

import argparse
import asyncio
import gc
import json
import re
import socket
from time import monotonic_ns

from tui.traffic.http.wire import PlainWire, prepare
from tui.traffic.replay.timer import Timer

_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
_ID = re.compile(rb"(?i)x-request-id: (\S+)")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(row: object) -> bytes:
    data = b"data: " + (row if isinstance(row, bytes) else json.dumps(row, separators=(",", ":")).encode()) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(**words: str) -> bytes:
    choice = {"index": 0, "delta": words, "logprobs": None, "finish_reason": None}
    base = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1795972233,
        "model": "made",
    }
    return chunk({**base, "choices": [choice]})


ROLE, TOKEN = delta(role="assistant", content=""), delta(content=" token")


class Truth:
    """One connection. Requests are stamped by the kernel, so that this process's own delay is not the client's."""

    def __init__(self, sock: socket.socket, server: "Server") -> None:
        self.server = server
        self.buffer = b""
        self.wire = PlainWire(sock, self.received, lambda error: None)

    def received(self, data: bytes, at: int, kernel: bool) -> None:
        self.buffer += data
        head, blank, body = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not blank or len(body) < (int(length[1]) if length else 0):
            return
        self.buffer = b""
        if head.startswith(b"GET"):
            answer = json.dumps(self.server.truth).encode()
            self.server.truth.clear()
            self.wire.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer))
            return
        found = _ID.search(head)
        name = found[1].decode() if found else ""
        self.server.tasks.add(asyncio.ensure_future(self.stream(name, int(json.loads(body)["max_tokens"]), at)))

    async def stream(self, name: str, tokens: int, received: int) -> None:
        server, wire = self.server, self.wire
        await server.timer.until(received + server.ttft_ns)
        wire.write(_HEAD + ROLE)
        first = monotonic_ns()
        server.truth[name] = [received, first]
        for number in range(tokens):
            if server.itl_ns:
                await server.timer.until(first + number * server.itl_ns)
            elif number:
                await asyncio.sleep(0)
            wire.write(TOKEN)
        usage = {"prompt_tokens": 30, "completion_tokens": tokens, "total_tokens": 30 + tokens}
        wire.write(chunk({"choices": [], "usage": usage}) + chunk(b"[DONE]") + b"0\r\n\r\n")


class Server:
    def __init__(self, ttft_ms: float, itl_ms: float) -> None:
        self.timer = Timer()
        self.ttft_ns, self.itl_ns = int(ttft_ms * 1e6), int(itl_ms * 1e6)
        self.truth: dict[str, list[int]] = {}
        self.tasks: set[asyncio.Task[None]] = set()


async def serve(port: int, ttft_ms: float, itl_ms: float) -> None:
    server, loop = Server(ttft_ms, itl_ms), asyncio.get_running_loop()
    listening = socket.create_server(("127.0.0.1", port), backlog=4096)
    prepare(listening)
    gc.disable()
    print(listening.getsockname()[1], flush=True)
    while True:
        sock, _ = await loop.sock_accept(listening)
        prepare(sock)
        Truth(sock, server)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ttft-ms", type=float, default=0.0)
    parser.add_argument("--itl-ms", type=float, default=0.0)
    asked = parser.parse_args()
    asyncio.run(serve(asked.port, asked.ttft_ms, asked.itl_ms))
