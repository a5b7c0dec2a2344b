"""Help for tests of the recorder: a proxy in front of a URL, upstreams that do what a test says, raw clients."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tui.traffic.http.target import parse_target
from tui.traffic.recorder import Recorded, Recorder, RecordSpec
from tui.traffic.recorder.capture import Capture
from tui.traffic.recorder.proxy import Proxy
from tui.traffic.recorder.upstream import Upstreams

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Running:
    """A recorder; `end` stops it and gives what became of the traffic."""

    def __init__(self, recorder: Recorder, said: list[str]) -> None:
        self.recorder, self.said = recorder, said
        self.url = recorder.url
        self.port = int(recorder.url.rpartition(":")[2])
        self.recorded: Recorded | None = None

    async def end(self) -> Recorded:
        if self.recorded is None:
            self.recorded = await self.recorder.stop()
        return self.recorded


@contextlib.asynccontextmanager
async def recording(url: str, out: Path, **more: Any) -> AsyncIterator[Running]:
    said: list[str] = []
    recorder = await Recorder.start(RecordSpec(url, str(out), **{"port": 0, **more}), said.append)
    running = Running(recorder, said)
    try:
        yield running
    finally:
        await running.end()


@contextlib.asynccontextmanager
async def passing(url: str, timeout_s: float = 60.0, connect_s: float = 5.0) -> AsyncIterator[Proxy]:
    """The proxy alone, without the process that writes; `proxy.captures` are the exchanges that have ended."""
    captures: list[Capture] = []
    proxy = Proxy("127.0.0.1", 0, Upstreams(parse_target(url), connect_s), timeout_s, captures.append)
    proxy.captures = captures
    try:
        yield proxy
    finally:
        proxy.stop_listening()
        proxy.close()


@contextlib.asynccontextmanager
async def upstream(serve: Serve, **more: Any) -> AsyncIterator[str]:
    """A server whose connections are handled by `serve`."""
    tasks = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0, **{"limit": 1 << 25, **more})
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()


async def head_and_body(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """One request as an upstream sees it, its chunks joined."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    fields = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head.split("\r\n")[1:])}
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
        return head, body
    return head, await reader.readexactly(int(fields.get("content-length", 0)))


async def talk(port: int, data: bytes, host: str = "127.0.0.1") -> bytes:
    """Send `data` and read until the other side ends the connection."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(data)
    async with asyncio.timeout(10):
        answer = await reader.read(-1)
    writer.close()
    return answer


def post(body: object, path: str = "/v1/chat/completions", *headers: str, close: bool = True) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: proxy", f"Content-Length: {len(raw)}", *headers]
    return "\r\n".join([*lines, *(["Connection: close"] if close else [])]).encode() + b"\r\n\r\n" + raw


def chat(*words: str, **more: Any) -> dict[str, Any]:
    """A body for the stand-in; the words are user and assistant turns in alternation."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": word} for n, word in enumerate(words)]
    return {"messages": messages, "max_tokens": 8, "stream": True, **more}


def rows(path: Path) -> list[dict[str, Any]]:
    """The requests of a recording as they stand in the file."""
    return [json.loads(line) for line in path.read_text().strip().split("\n")[1:]]


def payload(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])
