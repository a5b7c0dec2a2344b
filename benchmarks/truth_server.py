"""A streaming server that knows the truth: when each request was received, and each first and last token written.

It answers chats and completions with as many chunks as they ask tokens, the first after --ttft-ms, then one each
--itl-ms; with 0 and 0 as fast as it can, --burst chunks a write. One loop over epoll, no library, and no chunk is made
twice: it has to be faster than the clients that it judges. Requests are stamped by the kernel, so that a queue in front
of this process is not held against a client. ``GET /truth`` gives, and forgets, a row per answer: [X-Request-Id,
received, first token written, last token written, chunks], times in CLOCK_MONOTONIC ns.
"""

import argparse
import gc
import heapq
import json
import re
import select
import socket
import struct
from time import monotonic_ns
from typing import Any

from tui.traffic.http.clock import CLOCK
from tui.traffic.http.wire import prepare

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_ID = re.compile(rb"(?i)\r\nx-request-id: *(\S+)")
_CHUNKED = re.compile(rb"(?i)\r\ntransfer-encoding: *chunked")
_EXPECT = re.compile(rb"(?i)\r\nexpect: *100")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
_SPIN_NS = 1_500_000  # the kernel wakes sleepers in whole milliseconds; the last ones are waited out awake
MODEL = "made"


def chunk(row: object) -> bytes:
    data = b"data: " + (row if isinstance(row, bytes) else json.dumps(row, separators=(",", ":")).encode()) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


class Shape:
    """The ready-made bytes of an answer's events."""

    def __init__(self, chat: bool) -> None:
        self.chat = chat
        self.role = self._event({"role": "assistant", "content": ""}, None) if chat else b""
        self.token = self._event({"content": " token"}, " token")
        self.finish = self._event({"content": ""}, "", "length")

    def _base(self) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return {"id": "chatcmpl-0123456789abcdef", "object": kind, "created": 1795972233, "model": MODEL}

    def _event(self, delta: dict[str, str], text: str | None, finish: str | None = None) -> bytes:
        words = {"delta": delta} if self.chat else {"text": text}
        choice = {"index": 0, **words, "logprobs": None, "finish_reason": finish}
        return chunk({**self._base(), "choices": [choice]})

    def tail(self, tokens: int, usage: bool) -> list[bytes]:
        counted = chunk({**self._base(), "choices": [], "usage": used(tokens)})
        return [self.finish, *([counted] if usage else []), chunk(b"[DONE]") + b"0\r\n\r\n"]

    def whole(self, tokens: int) -> dict[str, Any]:
        text = " token" * tokens
        words = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        kind = "chat.completion" if self.chat else "text_completion"
        return {**self._base(), "object": kind, "choices": [{"index": 0, **words, "finish_reason": "length"}],
                "usage": used(tokens)}  # fmt: skip


def used(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 32, "completion_tokens": tokens, "total_tokens": 32 + tokens}


class Connection:
    __slots__ = ("buffer", "out", "sock", "stream")

    def __init__(self, sock: socket.socket) -> None:
        self.sock, self.buffer, self.out = sock, b"", b""
        self.stream: Stream | None = None


class Stream:
    __slots__ = ("base", "connection", "first", "last", "name", "received", "sent", "shape", "tokens", "usage")

    def __init__(self, connection: Connection, name: str, shape: Shape, tokens: int, usage: bool, at: int) -> None:
        self.connection, self.name, self.shape, self.tokens, self.usage = connection, name, shape, tokens, usage
        self.received, self.sent = at, 0
        self.first = self.last = self.base = 0


class Server:
    def __init__(self, ttft_ms: float, itl_ms: float, burst: int) -> None:
        self.ttft, self.itl, self.burst = int(ttft_ms * 1e6), int(itl_ms * 1e6), burst
        self.truth: list[list[Any]] = []
        self.epoll = select.epoll()
        self.connections: dict[int, Connection] = {}
        self.due: list[tuple[int, int, Stream]] = []
        self.ready: list[Stream] = []
        self.shapes = {True: Shape(True), False: Shape(False)}
        self.order = 0

    def serve(self, port: int) -> None:
        listening = socket.create_server(("127.0.0.1", port), backlog=4096)
        prepare(listening)
        self.epoll.register(listening, select.EPOLLIN)
        print(listening.getsockname()[1], flush=True)
        gc.disable()
        while True:
            for fd, events in self.epoll.poll(self._patience(), 512):
                if fd == listening.fileno():
                    self._accept(listening)
                elif (connection := self.connections.get(fd)) is not None:
                    if events & select.EPOLLOUT:
                        self._flush(connection)
                    if events & ~select.EPOLLOUT:
                        self._read(fd, connection)
            if self.due:
                self._step_due()
            if self.ready:
                self._step_ready()

    def _patience(self) -> float:
        """Seconds to sleep; -1 is for ever."""
        if self.ready:
            return 0
        if not self.due:
            return -1
        return max(0, self.due[0][0] - monotonic_ns() - _SPIN_NS) / 1e9

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                sock, _ = listening.accept()
            except BlockingIOError:
                return
            prepare(sock)
            self.connections[sock.fileno()] = Connection(sock)
            self.epoll.register(sock, select.EPOLLIN)

    def _close(self, fd: int, connection: Connection) -> None:
        del self.connections[fd]
        connection.stream = None
        connection.sock.close()

    def _read(self, fd: int, connection: Connection) -> None:
        try:
            data, ancillary, _, _ = connection.sock.recvmsg(1 << 16, 64)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self._close(fd, connection)
            return
        at = now = monotonic_ns()
        if ancillary:
            seconds, nanos = struct.unpack_from("@ll", ancillary[0][2])
            at = CLOCK.monotonic(seconds * 1_000_000_000 + nanos, now) or now
        connection.buffer += data
        while (request := self._request(connection)) is not None:
            self._answer(connection, *request, at)

    def _request(self, connection: Connection) -> tuple[bytes, bytes] | None:
        """The next whole request: head, body."""
        head, blank, rest = connection.buffer.partition(b"\r\n\r\n")
        if not blank:
            return None
        if _EXPECT.search(head) and not rest:
            self._send(connection, b"HTTP/1.1 100 Continue\r\n\r\n")
        if _CHUNKED.search(head):
            body, rest = _dechunked(rest)
            if body is None:
                return None
        else:
            length = int(found[1]) if (found := _LENGTH.search(head)) else 0
            if len(rest) < length:
                return None
            body, rest = rest[:length], rest[length:]
        connection.buffer = rest
        return head, body

    def _answer(self, connection: Connection, head: bytes, body: bytes, at: int) -> None:
        method, target = head.split(b" ", 2)[:2]
        path = target.partition(b"?")[0].decode()
        if method == b"POST" and path.endswith("/completions"):
            self._generate(connection, head, json.loads(body), path.endswith("chat/completions"), at)
        elif path == "/truth":
            self._json(connection, self.truth)
            self.truth = []
        elif path == "/tokenize":
            self._json(connection, {"count": 8, "max_model_len": 8192, "tokens": list(range(8))})
        elif path == "/detokenize":
            self._json(connection, {"prompt": "Write a story about a lighthouse keeper."})
        elif path == "/v1/models":
            served = {"id": MODEL, "object": "model", "created": 1, "owned_by": "vllm", "root": MODEL}
            self._json(connection, {"object": "list", "data": [{**served, "max_model_len": 8192}]})
        else:
            self._json(connection, {"version": "0.32.0"})

    def _generate(self, connection: Connection, head: bytes, asked: dict[str, Any], chat: bool, at: int) -> None:
        tokens, shape = int(asked.get("max_completion_tokens") or asked.get("max_tokens") or 16), self.shapes[chat]
        if not asked.get("stream"):
            self._json(connection, shape.whole(tokens))
            return
        usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        name = found[1].decode() if (found := _ID.search(head)) else ""
        stream = connection.stream = Stream(connection, name, shape, tokens, usage, at)
        self._send(connection, _HEAD)
        if self.ttft or self.itl:
            self._wait(at + self.ttft, stream)
        else:
            self.ready.append(stream)

    def _wait(self, at: int, stream: Stream) -> None:
        self.order += 1
        heapq.heappush(self.due, (at, self.order, stream))

    def _json(self, connection: Connection, row: object) -> None:
        data = json.dumps(row).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data)
        self._send(connection, head + data)

    def _step_due(self) -> None:
        due = self.due
        while due and due[0][0] <= monotonic_ns():
            _, _, stream = heapq.heappop(due)
            if stream.connection.stream is not stream:
                continue
            while not self._step(stream, 1):
                if self.itl:
                    self._wait(stream.base + stream.sent * self.itl, stream)
                    break

    def _step_ready(self) -> None:
        ready, self.ready = self.ready, []
        for stream in ready:
            if stream.connection.stream is not stream:
                continue
            if stream.connection.out or not self._step(stream, self.burst):
                self.ready.append(stream)

    def _step(self, stream: Stream, count: int) -> bool:
        """Write the next tokens; True when these were the last."""
        connection, shape = stream.connection, stream.shape
        if not stream.sent:
            if shape.role:
                self._send(connection, shape.role)
            stream.first = stream.base = monotonic_ns()
        count = min(count, stream.tokens - stream.sent)
        stream.sent += count
        if stream.sent < stream.tokens:
            self._send(connection, shape.token if count == 1 else shape.token * count)
            return False
        stream.last = monotonic_ns()
        self._send(connection, shape.token * count)
        for piece in shape.tail(stream.tokens, stream.usage):
            self._send(connection, piece)
        connection.stream = None
        self.truth.append([stream.name, stream.received, stream.first, stream.last, stream.sent])
        return True

    def _send(self, connection: Connection, data: bytes) -> None:
        if connection.out:
            connection.out += data
            return
        try:
            sent = connection.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # the read finds out
        if sent < len(data):
            connection.out = data[sent:]
            self.epoll.modify(connection.sock, select.EPOLLIN | select.EPOLLOUT)

    def _flush(self, connection: Connection) -> None:
        data, connection.out = connection.out, b""
        self._send(connection, data)
        if not connection.out:
            self.epoll.modify(connection.sock, select.EPOLLIN)


def _dechunked(data: bytes) -> tuple[bytes | None, bytes]:
    """(body, what follows it); None while it is not whole."""
    pieces, place = [], 0
    while (end := data.find(b"\r\n", place)) >= 0:
        size = int(data[place:end].split(b";")[0], 16)
        if len(data) < end + 4 + size:
            break
        pieces.append(data[end + 2 : end + 2 + size])
        place = end + 4 + size
        if not size:
            return b"".join(pieces), data[place:]
    return None, data


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ttft-ms", type=float, default=0.0)
    parser.add_argument("--itl-ms", type=float, default=0.0)
    parser.add_argument("--burst", type=int, default=1, help="chunks a write, where there is no delay")
    asked = parser.parse_args()
    Server(asked.ttft_ms, asked.itl_ms, asked.burst).serve(asked.port)
