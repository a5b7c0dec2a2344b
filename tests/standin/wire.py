"""HTTP/1.1 on asyncio streams, as much as the stand-in needs, and as crooked as a fault asks."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from standin.faults import Faults

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    raw: bytes

    def json(self) -> dict[str, Any]:
        return json.loads(self.raw) if self.raw else {}


async def read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return Asked(method, parts.path, parse_qs(parts.query), headers, raw)


class Wire:
    """The writing half of one answer."""

    def __init__(self, writer: asyncio.StreamWriter, faults: Faults) -> None:
        self.writer, self.faults = writer, faults
        self._held = b""

    async def whole(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.writer.write(head(status, kind, f"content-length: {len(body)}") + body)
        await self.writer.drain()

    async def begin(self) -> None:
        """The head of a streamed answer."""
        if self.faults.interim:
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")
        framing = "connection: close" if self.faults.close_delimited else "transfer-encoding: chunked"
        await self._write(head(200, "text/event-stream; charset=utf-8", framing))

    async def send(self, data: bytes) -> None:
        pieces = [data[i : i + 1] for i in range(len(data))] if self.faults.byte_by_byte else self._pieces(data)
        for piece in pieces:
            if self.faults.close_delimited:
                await self._write(piece)
            else:
                extension = b";name=value" if self.faults.trailers else b""
                await self._write(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece))
            if len(pieces) > 1:
                await asyncio.sleep(0)  # so that the pieces are reads of their own, mostly

    async def end(self) -> None:
        if not self.faults.close_delimited:
            trailer = b"x-checksum: 1\r\n" if self.faults.trailers else b""
            await self._write(b"0\r\n" + trailer + b"\r\n")
        self.writer.write(self._held)
        await self.writer.drain()

    def _pieces(self, data: bytes) -> list[bytes]:
        if self.faults.split_utf8:
            for place, byte in enumerate(data):
                if byte & 0xC0 == 0x80:  # inside a character
                    return [data[:place], data[place:]]
        return [data]

    async def _write(self, data: bytes) -> None:
        if self.faults.one_write:
            self._held += data
            return
        self.writer.write(data)
        await self.writer.drain()


def head(status: int, kind: str, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}", "server: uvicorn", f"content-type: {kind}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
