"""A headless Chromium, driven over its DevTools protocol; and its screenshots as pixels."""

import asyncio
import base64
import contextlib
import itertools
import os
import struct
import subprocess
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

PATIENCE_S = 60.0
Pixel = tuple[int, int, int]


class Browser:
    """One page. What its WebSockets received is in `received`, as text."""

    def __init__(self, program: str, folder: Path) -> None:
        self._folder = folder
        # Nothing but this machine is ever asked.
        nowhere = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             f"--user-data-dir={folder}", "--window-size=1500,900", f"--host-resolver-rules={nowhere}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.received = ""

    async def open(self, url: str) -> None:
        import aiohttp

        place = self._folder / "DevToolsActivePort"
        async with asyncio.timeout(PATIENCE_S):
            while not place.exists() or len(place.read_text().split()) < 2:
                assert self._process.poll() is None, "Chromium ended"
                await asyncio.sleep(0.1)
        port = place.read_text().split()[0]
        self._client = aiohttp.ClientSession()
        async with self._client.get(f"http://127.0.0.1:{port}/json") as answer:
            pages = [one for one in await answer.json() if one["type"] == "page"]
        self._socket = await self._client.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)
        self._reader = asyncio.create_task(self._read())
        for domain in ("Network", "Page"):
            await self.ask(f"{domain}.enable")
        await self.ask("Page.navigate", url=url)

    async def _read(self) -> None:
        async for message in self._socket:
            told = message.json()
            if told.get("method") == "Network.webSocketFrameReceived":
                frame = told["params"]["response"]
                data = frame["payloadData"]
                self.received += base64.b64decode(data).decode("utf-8", "replace") if frame["opcode"] == 2 else data
            elif told.get("id") in self._answers:
                self._answers.pop(told["id"]).set_result(told)

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._answers[number] = future = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE_S):
            return (await future).get("result", {})

    async def until(self, word: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while word not in self.received:
                await asyncio.sleep(0.1)

    async def click(self, x: int, y: int) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def press(self, key: str) -> None:
        await self.ask("Input.dispatchKeyEvent", type="keyDown", text=key, key=key, code=f"Key{key.upper()}")
        await self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def screenshot(self) -> bytes:
        return base64.b64decode((await self.ask("Page.captureScreenshot", format="png"))["data"])

    async def close(self) -> None:
        with contextlib.suppress(AttributeError):  # it was never opened
            self._reader.cancel()
            await self._client.close()
        os.killpg(self._process.pid, 15)
        self._process.wait()


def colours(png: bytes) -> Counter[Pixel]:
    """How often each colour occurs in a PNG of 8 bits a channel, without palette or interlacing."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8 and kind in (2, 6)
    size = 3 if kind == 2 else 4
    data, at = b"", 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    raw, found, before = zlib.decompress(data), Counter(), bytes(width * size)
    for row in range(height):
        start = row * (width * size + 1)
        before = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * size], before, size)
        found.update(zip(*(before[channel::size] for channel in range(3)), strict=True))
    return found


def _unfiltered(kind: int, row: bytes, above: bytes, size: int) -> bytes:
    """One row after its filter is undone (PNG specification, section 9)."""
    out = bytearray(row)
    for i in range(len(out)):
        left = out[i - size] if i >= size else 0
        up, corner = above[i], above[i - size] if i >= size else 0
        guess = left + up - corner
        near = min((left, up, corner), key=lambda value: abs(guess - value))
        out[i] = (out[i] + (0, left, up, (left + up) // 2, near)[kind]) & 255
    return bytes(out)
