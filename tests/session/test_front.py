"""The stable address: it follows the engine over restarts, holds while one starts, and says 503 where there is none."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys

import pytest
from made import left, runs

from tui.engine import health
from tui.engine import profile as profiles
from tui.engine.front import Front
from tui.engine.profile_set import with_settings
from tui.errors import VtuneError
from tui.session.session import Session
from tui.session.traffic import traffic_of

ASK = json.dumps({"prompt": "one two", "max_tokens": 3}).encode()


class Client:
    """A connection that is kept alive, as an application's is."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> "Client":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def ask(self, path: str = "/v1/completions", body: bytes = ASK) -> None:
        head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: app\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer with a length."""
        head = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 20)).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return int(first.split()[1]), headers, await self.reader.readexactly(int(headers.get("content-length", 0)))

    async def closed(self) -> bool:
        return await asyncio.wait_for(self.reader.read(1), 10) == b""


async def once(port: int) -> tuple[int, dict[str, str], bytes]:
    client = await Client.to(port)
    client.ask()
    try:
        return await client.answer()
    finally:
        client.writer.close()


@pytest.fixture
def port() -> int:
    return health.free_port()


@pytest.fixture
async def make(standin_profile, tmp_path, port):
    made = []

    def session(*settings: str) -> Session:
        always = [f"engine.front-port={port}", "engine.head-start=off"]
        profile = with_settings(profiles.load(str(standin_profile)), [*always, *settings])
        made.append(Session(profile, traffic_of(profile), tmp_path / f"session-{len(made)}"))
        return made[-1]

    yield session
    for one in made:
        await one.close()
    assert not left(tmp_path) and health.port_is_free("127.0.0.1", port)


@pytest.fixture
async def front(port):
    fronts = []

    async def opened(hold_s: float = 20.0) -> Front:
        fronts.append(await Front.open(port, lambda how: None, hold_s))
        return fronts[-1]

    yield opened
    for one in fronts:
        await one.close()


class Backend:
    """Answers what it is told to, and tells which connections it had."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.asked, self.go = answer, asyncio.Event(), asyncio.Event()
        self.go.set()

    async def __aenter__(self) -> "Backend":
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            self.asked.set()
            half = len(self.answer) // 2
            writer.write(self.answer[:half])
            await self.go.wait()
            writer.write(self.answer[half:])
        writer.close()

    async def __aexit__(self, *_: object) -> None:
        self.server.close()


WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_the_address_follows_the_engine_and_an_application_never_sees_it_go(make, port):
    session = make("engine.park=0")
    await session.start()
    held = asyncio.create_task(_when_listening(port))  # asked before the engine is ready
    await session.ready()
    assert (await held)[0] == 200
    kept = await Client.to(port)
    kept.ask()
    assert (await kept.answer())[0] == 200
    session.set_lever("max-num-seqs", "64")
    await session.apply()
    during = asyncio.create_task(once(port))  # the old engine ends, the new one starts
    assert await kept.closed()
    await session.ready()
    assert (await during)[0] == 200 and (await once(port))[0] == 200


async def _when_listening(port: int) -> tuple[int, dict[str, str], bytes]:
    async with asyncio.timeout(20):
        while True:
            try:
                return await once(port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)


async def test_it_follows_to_a_parked_engine_and_back(make, port):
    session = make()
    await session.start()
    await session.ready()
    for seqs in ("64", "128", "64"):
        session.set_lever("max-num-seqs", seqs)
        await session.apply()
        await session.ready()
        client = await Client.to(port)
        client.ask("/server_info?config_format=json", b"")
        _, _, body = await client.answer()
        assert json.loads(body)["vllm_config"]["scheduler_config"]["max_num_seqs"] == int(seqs)
        client.writer.close()


async def test_without_an_engine_it_says_503_as_vllm_would_say_it(make, port):
    session = make("engine.env.STANDIN_REFUSE=block-size")
    await session.start()
    with pytest.raises(VtuneError):
        await session.ready()
    status, headers, body = await once(port)
    assert status == 503 and int(headers["retry-after"]) > 0
    error = json.loads(body)["error"]
    assert error["code"] == 503 and "no engine" in error["message"] and error["type"]


async def test_an_engine_that_died_is_not_waited_for(make, port):
    session = make()
    await session.start()
    await session.ready()
    os.kill(session.host.engine.pid, signal.SIGKILL)
    await session.host.engine.died
    assert (await once(port))[0] == 503


async def test_a_taken_port_is_refused_in_two_lines_before_an_engine_starts(make, port):
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        session = make()
        await session.start()
        with pytest.raises(VtuneError) as refusal:
            await session.ready()
    assert f"front-port {port}" in refusal.value.what and f"pid {os.getpid()}" in refusal.value.what
    assert refusal.value.mend and session.state.engine is None


async def test_a_restart_by_hand_is_waited_for_too(make, port):
    session = make()
    await session.start()
    await session.ready()
    seen, over = [], asyncio.Event()

    async def application() -> None:
        while not over.is_set():
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):  # under way when its engine ended
                seen.append((await once(port))[0])

    work = asyncio.create_task(application())
    await session.restart()
    await session.ready()
    over.set()
    await work
    assert set(seen) == {200}


async def test_a_front_that_is_killed_is_told_and_comes_back_with_the_engine(make, port):
    session = make()
    await session.start()
    await session.ready()
    os.kill(session.front.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        while not any("is gone" in notice["what"] for notice in session.state.notices):
            await asyncio.sleep(0.02)
    await session.restart()
    await session.ready()
    assert (await once(port))[0] == 200


async def test_holding_ends_with_a_503_that_says_so(front, port):
    opened = await front(0.2)
    opened.wait()
    status, headers, body = await once(port)
    assert status == 503 and "starting" in json.loads(body)["error"]["message"]


async def test_an_answer_under_way_is_finished_before_its_connection_is_closed(front, port):
    opened = await front()
    async with Backend(STREAM + b"4\r\nword\r\n0\r\n\r\n") as old, Backend(WHOLE + b"next") as new:
        old.go.clear()
        opened.serve("127.0.0.1", old.port)
        client = await Client.to(port)
        client.ask()
        await old.asked.wait()
        opened.serve("127.0.0.1", new.port)
        assert (await once(port))[2] == b"next"
        old.go.set()
        assert (await client.reader.readuntil(b"0\r\n\r\n")).endswith(b"4\r\nword\r\n0\r\n\r\n")
        assert await client.closed()


async def test_a_large_upload_is_refused_without_a_reset(front, port):
    opened = await front()
    opened.nobody()
    client = await Client.to(port)
    client.ask(body=b"x" * (1 << 22))
    assert (await client.answer())[0] == 503


async def test_it_ends_with_vtune_however_that_ends(port, tmp_path):
    code = (
        "import asyncio, sys\nfrom tui.engine.front import Front\n"
        "async def main():\n"
        f"    front = await Front.open({port}, print)\n"
        "    print(front.pid, flush=True)\n    await asyncio.sleep(60)\nasyncio.run(main())"
    )
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    pid = int(await owner.stdout.readline())
    kept = await Client.to(port)
    owner.kill()
    await owner.wait()
    assert await kept.closed()
    async with asyncio.timeout(10):
        while runs(pid):
            await asyncio.sleep(0.02)
    assert health.port_is_free("127.0.0.1", port)
