"""Slow and dead ends: the other side is told, nothing grows, nothing is held."""

import asyncio
import json
import resource
import socket

import pytest
from standin.fixture import serving
from upstreams import chat, head_and_body, passing, payload, post, recording, rows, talk, upstream

from tui.traffic.recorder.exchange import HIGH


async def until(true, seconds=60.0):
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.005)


async def test_nobody_at_the_upstream_is_502_and_recorded_as_that(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with recording(f"http://127.0.0.1:{port}", tmp_path / "r.jsonl") as proxy:
        got = await talk(proxy.port, post(chat("hi")))
        assert got.startswith(b"HTTP/1.1 502 ")
        error = payload(got)["error"]
        assert error["code"] == 502 and "connection refused" in error["message"]
        await proxy.end()
    reply = rows(tmp_path / "r.jsonl")[0]["reply"]
    assert reply["status"] == 502 and reply["ttft_s"] is None and "refused" in reply["ended"]


async def test_a_silent_upstream_is_504():
    async def serve(reader, writer):
        await head_and_body(reader)
        await asyncio.Event().wait()

    async with upstream(serve) as url, passing(url, timeout_s=0.2) as proxy:
        got = await talk(proxy.port, post(chat("hi")))
        assert got.startswith(b"HTTP/1.1 504 ") and payload(got)["error"]["code"] == 504


async def test_an_upstream_that_takes_no_connection_is_504():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(8)]
        for sock in waiting:  # fill the backlog, so that the kernel answers nobody else
            sock.setblocking(False)
            sock.connect_ex(address)
        async with passing("http://127.0.0.1:%d" % address[1], connect_s=0.3) as proxy:
            got = await talk(proxy.port, post(chat("hi")))
        for sock in waiting:
            sock.close()
    assert got.startswith(b"HTTP/1.1 504 "), got


async def test_an_upstream_that_falls_silent_in_the_stream_ends_the_clients_too():
    async def serve(reader, writer):
        await head_and_body(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await asyncio.Event().wait()

    async with upstream(serve) as url, passing(url, timeout_s=0.2) as proxy:
        got = await talk(proxy.port, post(chat("hi")))
        assert got.endswith(b"\r\n\r\n3\r\nabc\r\n")


@pytest.mark.parametrize("words", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nContent-Len"])
async def test_an_upstream_that_does_not_answer_properly_is_502(words):
    async def serve(reader, writer):
        await head_and_body(reader)
        writer.write(words)

    async with upstream(serve) as url, passing(url) as proxy:
        got = await talk(proxy.port, post(chat("hi")))
        assert got.startswith(b"HTTP/1.1 502 ") and payload(got)["error"]["code"] == 502


async def test_an_answer_cut_by_the_upstream_is_cut_for_the_client(tmp_path):
    async with serving() as standin, recording(standin.url, tmp_path / "r.jsonl") as proxy:
        got = await talk(proxy.port, post(chat("hi", standin={"cut_after": 3})))
        assert got.count(b'"content":"') == 1 + 3 and not got.endswith(b"0\r\n\r\n")
        recorded = await proxy.end()
    assert recorded.kept == 1
    reply = rows(tmp_path / "r.jsonl")[0]["reply"]
    assert reply["status"] == 200 and reply["ttft_s"] > 0 and reply["text_sha256"] is None and reply["ended"]


async def test_a_client_that_hangs_up_ends_the_work_of_the_engine(tmp_path):
    async with serving() as standin, recording(standin.url, tmp_path / "r.jsonl") as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(post(chat("hi", standin={"hang_after": 2})))
        await reader.readuntil(b'"content":" ')
        writer.close()
        await until(lambda: standin.server.aborted)
        await until(lambda: not proxy.recorder.in_flight)
        await proxy.end()
    reply = rows(tmp_path / "r.jsonl")[0]["reply"]
    assert reply["ended"] == "the client hung up" and reply["text_sha256"] is None


async def test_a_client_that_hangs_up_before_the_answer():
    ended = asyncio.Event()

    async def serve(reader, writer):
        await head_and_body(reader)
        await reader.read()
        ended.set()

    async with upstream(serve) as url, passing(url) as proxy:
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(post(chat("hi")))
        await until(lambda: proxy.in_flight)
        writer.close()
        async with asyncio.timeout(10):
            await ended.wait()
        await until(lambda: not proxy.clients)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_a_client_that_reads_slowly_holds_the_upstream_back_and_then_gets_everything(
    tls, request, monkeypatch
):
    more = {}
    if tls:
        cert, more["ssl"] = request.getfixturevalue("certificate")
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    total, piece, sent = 64 << 20, b"x" * (1 << 16), []

    async def serve(reader, writer):
        await head_and_body(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        for _ in range(total // len(piece)):
            writer.write(piece)
            await writer.drain()
            sent.append(len(piece))

    async with upstream(serve, **more) as url, passing(url.replace("http:", "https:") if tls else url) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1 << 16)
        writer.write(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        before = -1
        while before != len(sent):  # until it stands still
            before = len(sent)
            await asyncio.sleep(0.3)
        assert sum(sent) < total // 2
        # A read that was decrypted together may bring a little more.
        assert max(client.pending for client in proxy.clients) <= HIGH + (1 << 18)
        size = 0
        async with asyncio.timeout(30):
            while data := await reader.read(1 << 20):
                size += len(data)
        assert size == total
        writer.close()


async def test_an_upstream_that_reads_slowly_holds_the_client_back():
    total, go = 64 << 20, asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await go.wait()
        size = 0
        while size < total:
            size += len(await reader.read(1 << 20))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with upstream(serve, limit=1 << 16) as url, passing(url) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"PUT / HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % total)
        taken = 0
        with pytest.raises(TimeoutError):
            while taken < total:
                writer.write(b"x" * (1 << 20))
                async with asyncio.timeout(0.5):
                    await writer.drain()
                taken += 1 << 20
        assert taken < total
        go.set()
        async with asyncio.timeout(30):
            writer.write(b"x" * (total - taken - (1 << 20)))
            assert (await reader.read(-1)).endswith(b"ok")
        writer.close()


async def test_1000_streams_at_once_all_arrive_and_are_kept(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 5000:
        pytest.skip(f"only {hard} file descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    here, everybody = [], asyncio.Event()

    async def serve(reader, writer):
        _, body = await head_and_body(reader)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        event = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
        writer.write(head + b"%x\r\n%s\r\n" % (len(event), event))
        here.append(1)
        if len(here) == 1000:
            everybody.set()
        await everybody.wait()
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    async def ask(port, number):
        return await talk(port, post(chat(f"number {number}")))

    async with upstream(serve, backlog=2000) as url, recording(url, tmp_path / "r.jsonl") as proxy:
        async with asyncio.timeout(200):
            answers = await asyncio.gather(*(ask(proxy.port, n) for n in range(1000)))
        assert all(answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") for answer in answers)
        recorded = await proxy.end()
    assert recorded.kept == 1000 and not recorded.skipped
    kept = rows(tmp_path / "r.jsonl")
    assert {row["body"]["messages"][0]["content"] for row in kept} == {f"number {n}" for n in range(1000)}
    assert [row["at"] for row in kept] == sorted(row["at"] for row in kept)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("path", "status"), [("/v1/completions", b"200"), ("/other", b"502")])
async def test_an_idle_connection_closed_just_as_we_wrote_is_repeated_only_where_that_is_safe(path, status):
    """The second request of a connection is never answered."""
    served = []

    async def serve(reader, writer):
        await head_and_body(reader)
        served.append(1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await head_and_body(reader)

    async with upstream(serve) as url, passing(url) as proxy:
        await talk(proxy.port, post(b"{}", path))
        got = await talk(proxy.port, post(b"{}", path))
        assert got.startswith(b"HTTP/1.1 " + status)
        assert len(served) == (2 if status == b"200" else 1)


async def test_an_upstream_over_tls(tmp_path, monkeypatch, certificate):
    cert, own = certificate
    async with serving(tls=own) as standin:
        async with passing(standin.url) as proxy:
            assert (await talk(proxy.port, post(chat("hi")))).startswith(b"HTTP/1.1 502 ")  # nobody trusts it
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        async with recording(standin.url, tmp_path / "r.jsonl") as proxy:
            words = " word" * 5_000
            got = await talk(proxy.port, post(chat(words, standin={"text": "fine answer"})))
            assert b"fine" in got and got.endswith(b"0\r\n\r\n")
            await proxy.end()
    row = rows(tmp_path / "r.jsonl")[0]
    assert row["reply"]["status"] == 200 and row["body"]["messages"][0]["content"] == words
    assert row["reply"]["usage"]["prompt_tokens"] > 1000  # counted over TLS too


async def test_listening_on_ipv6_and_a_busy_port(tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 loopback here: {error}")
    async with serving() as standin:
        async with recording(standin.url, tmp_path / "r.jsonl", host="::1") as proxy:
            assert proxy.url.startswith("http://[::1]:")
            got = await talk(proxy.port, post(json.loads("{}"), "/v1/nowhere"), "::1")
            assert got.startswith(b"HTTP/1.1 404 ")
