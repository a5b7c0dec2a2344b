"""What passes, passes untouched, whatever its framing."""

import asyncio
import json

import pytest
from upstreams import chat, head_and_body, passing, payload, post, recording, talk, upstream

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answering(answer, seen):
    async def serve(reader, writer):
        while True:
            seen.append(await head_and_body(reader))
            writer.write(answer)
            await writer.drain()

    return serve


async def test_any_method_and_path_passes_and_only_what_is_of_one_connection_stays_behind():
    seen = []
    async with upstream(answering(OK, seen)) as url, passing(url) as proxy:
        await talk(
            proxy.port,
            b"PATCH /any/path%20x?key=1&a=b HTTP/1.1\r\nhost: proxy\r\nX-Own: 1\r\nx-own: 2\r\n"
            b"Authorization: Bearer k\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n"
            b"TE: trailers\r\nUpgrade: h2c\r\nAccept-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x00\xff\r\n\n",
        )
        head, body = seen[0]
        lines = head.strip().split("\r\n")
        assert lines[0] == "PATCH /any/path%20x?key=1&a=b HTTP/1.1"
        assert lines[1] == f"Host: {url.removeprefix('http://')}"
        assert lines[2:] == [
            "X-Own: 1", "x-own: 2", "Authorization: Bearer k", "Accept-Encoding: gzip", "Content-Length: 5"
        ]  # fmt: skip
        assert body == b"\x00\xff\r\n\n"


async def test_an_answer_keeps_its_fields_framing_and_trailers_byte_by_byte():
    body = b"5;ext=1\r\nhello\r\n0006\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n"
    answer = (
        b"HTTP/1.1 207 Made Up\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: keep-alive\r\n"
        b"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + body
    )
    async with upstream(answering(answer, [])) as url, passing(url) as proxy:
        got = await talk(proxy.port, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    head, _, rest = got.partition(b"\r\n\r\n")
    assert rest == body
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 207 Made Up", b"Set-Cookie: a=1", b"Set-Cookie: b=2", b"Transfer-Encoding: chunked",
        b"Trailer: X-Sum", b"Connection: close",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_a_chunked_request_arrives_whole_however_it_is_cut(size):
    seen = []
    data = b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    data += b"3;x=y\r\n{\"p\r\n0a\r\nrompt\": \"x\r\n2\r\n\"}\r\n0\r\nTrailer: 1\r\n\r\n"
    async with upstream(answering(OK, seen)) as url, passing(url) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        for start in range(0, len(data), size):
            writer.write(data[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)
        assert (await reader.read(-1)).endswith(b"ok")
        writer.close()
        assert seen[0][1] == b'{"prompt": "x"}'


async def test_what_is_announced_waits_for_the_upstream_to_want_it():
    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"Expect: 100-continue" in head
        if b"/wanted" not in head:
            writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
            return
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(4)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + body)

    asked = b"POST /%s HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"
    async with upstream(serve) as url, passing(url) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(asked % b"wanted")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert (await reader.read(-1)).endswith(b"\r\n\r\nbody")
        writer.close()
        refused = await talk(proxy.port, asked % b"unwanted")
        assert refused.startswith(b"HTTP/1.1 401") and refused.endswith(b"\r\n\r\nno")


async def test_pipelined_requests_are_answered_in_order_over_one_connection():
    connections = []

    async def serve(reader, writer):
        connections.append(1)
        while True:
            head, _ = await head_and_body(reader)
            name = head.split(" ")[1].encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(name), name))

    async with upstream(serve) as url, passing(url) as proxy:
        asked = b"".join(b"POST /%d HTTP/1.1\r\nContent-Length: 1\r\n\r\nx" % n for n in range(20))
        got = await talk(proxy.port, asked + b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\n")
        names = [part.split(b"HTTP/1.1")[0] for part in got.split(b"\r\n\r\n")[1:]]
        assert names == [b"/%d" % n for n in range(20)] + [b"/last"]
        assert len(connections) == 1
        assert proxy.passed == 21


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(b"HEAD / HTTP/1.1", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
     (b"GET / HTTP/1.1", b"HTTP/1.1 204 No Content\r\n\r\n"),
     (b"GET / HTTP/1.1", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")],
)  # fmt: skip
async def test_answers_without_a_body_leave_the_connection_usable(asked, answer):
    async with upstream(answering(answer, [])) as url, passing(url) as proxy:
        got = await talk(proxy.port, asked + b"\r\n\r\n" + asked + b"\r\nConnection: close\r\n\r\n")
    head = answer.removesuffix(b"\r\n\r\n")
    assert got == answer + head + b"\r\nConnection: close\r\n\r\n"


async def test_a_client_of_http_1_0_gets_a_body_without_chunks():
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
    async with upstream(answering(chunked, [])) as url, passing(url) as proxy:
        got = await talk(proxy.port, b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert got == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"


async def test_an_answer_that_ends_with_its_connection():
    async def serve(reader, writer):
        await head_and_body(reader)
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")

    async with upstream(serve) as url, passing(url) as proxy:
        got = await talk(proxy.port, b"GET / HTTP/1.1\r\n\r\n")
    assert got == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end"


async def test_an_answer_given_before_the_request_was_read_arrives():
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        await writer.drain()
        await asyncio.sleep(0.2)

    async with upstream(serve) as url, passing(url) as proxy:
        got = await talk(proxy.port, b"POST / HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 900_000)
    assert got.startswith(b"HTTP/1.1 413 Too Large\r\n") and got.endswith(b"big")


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n\r\n", b"GET http://elsewhere/ HTTP/1.1\r\n\r\n", b"CONNECT h:1 HTTP/1.1\r\n\r\n",
     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
     b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"],
)  # fmt: skip
async def test_what_is_no_request_for_us_gets_400_in_openais_form(data):
    async with upstream(answering(OK, [])) as url, passing(url) as proxy:
        got = await talk(proxy.port, data)
        assert got.startswith(b"HTTP/1.1 400 ")
        assert payload(got)["error"]["code"] == 400


async def test_each_piece_arrives_before_the_next_one_is_sent():
    """No buffering anywhere: the upstream sends on only when the client has seen the last piece."""
    seen = asyncio.Semaphore(0)

    async def serve(reader, writer):
        await head_and_body(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(50):
            writer.write(b"9\r\ndata: x\n\n\r\n")
            await seen.acquire()
        writer.write(b"0\r\n\r\n")

    async with upstream(serve) as url, passing(url) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(post(chat("hi")))
        await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(10):
            for _ in range(50):
                assert await reader.readuntil(b"\n\n\r\n") == b"9\r\ndata: x\n\n\r\n"
                seen.release()
            assert await reader.read(-1) == b"0\r\n\r\n"
        writer.close()


async def test_big_bodies_pass_both_ways(tmp_path):
    out = tmp_path / "made.jsonl"

    async def serve(reader, writer):
        while True:
            _, body = await head_and_body(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()

    words = b" word" * 200_000
    async with upstream(serve) as url, recording(url, out) as proxy:
        one = post(b'{"prompt": "' + words + b'"}', "/v1/completions")
        huge = post(b'{"prompt": "' + words * 20 + b'"}', "/v1/completions")
        for asked in (one, huge):
            assert (await talk(proxy.port, asked)).endswith(asked.partition(b"\r\n\r\n")[2])
        recorded = await proxy.end()
    assert recorded.kept == 1 and recorded.skipped == {"a body of more than 16 MiB": 1}
    assert json.loads(out.read_bytes().splitlines()[1])["body"]["prompt"] == words.decode()
