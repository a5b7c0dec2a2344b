"""Servers that are busy, and requests that do not fit."""

import asyncio
import contextlib
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from replaying import chat, replay
from standin.fixture import serving

from tui.traffic.http.parser import ResponseParser
from tui.traffic.replay.sender import busy_s

DATA = b'data: {"choices":[{"index":0,"delta":{"content":"w"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%s" % (len(DATA), DATA)


@contextlib.asynccontextmanager
async def busy(times, status=b"503 Busy", wait=b"0"):
    """A server that refuses the first `times` requests; yields its URL and how many it has seen."""
    seen = []
    words = b'{"error":{"message":"come back"}}'
    refusal = b"HTTP/1.1 %s\r\nRetry-After: %s\r\ncontent-length: %d\r\n\r\n%s" % (status, wait, len(words), words)

    async def serve(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                seen.append(1)
                writer.write(refusal if len(seen) <= times else WHOLE)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", seen


async def test_a_refusal_is_final_unless_asked_and_tells_when_to_come_back(tmp_path):
    async with busy(1, b"429 Too Many Requests", b"7") as (url, seen):
        made = await replay(url, tmp_path, [chat("a")])
    a = made.outcomes["a"]
    assert (a.status, a.error_kind, a.retried, len(seen)) == ("failed", "http 429", None, 1)
    assert a.error == "come back (Retry-After: 7)"


@pytest.mark.parametrize("pace", ["recorded", "closed:1"])
async def test_a_busy_server_is_asked_again_where_that_is_wanted(tmp_path, pace):
    async with busy(2) as (url, seen):
        made = await replay(url, tmp_path, [chat("a")], retry=3, pace=pace)
    a = made.outcomes["a"]
    assert (a.status, a.text, a.chunks, a.retried, len(seen)) == ("ok", "w", 1, 2, 3)
    assert made.end.fidelity["busy_retries"] == 2


async def test_patience_ends(tmp_path):
    async with busy(9) as (url, seen):
        made = await replay(url, tmp_path, [chat("a")], retry=2)
    a = made.outcomes["a"]
    assert (a.status, a.error_kind, a.retried, len(seen)) == ("failed", "http 503", 2, 3)
    assert a.error == "come back (Retry-After: 0, sent again 2 x)"


async def test_a_wait_beyond_the_time_limit_is_not_begun(tmp_path):
    async with busy(1, wait=b"3600") as (url, seen):
        made = await replay(url, tmp_path, [chat("a")], retry=2)
    assert made.outcomes["a"].error_kind == "http 503" and len(seen) == 1


def test_retry_after_is_seconds_or_a_date_and_a_second_where_it_says_nothing():
    def wait(value, status=503):
        head = ResponseParser()
        head.status, head.headers = status, {} if value is None else {"retry-after": value}
        return busy_s(head)

    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=60), usegmt=True)
    assert (wait("3"), wait(None), wait("soon"), wait("-4"), wait(past)) == (3.0, 1.0, 1.0, 1.0, 0.0)
    assert 55 < wait(soon) <= 60
    assert (wait("3", 500), wait("3", 200)) == (None, None)


async def test_what_is_known_not_to_fit_fails_unsent_and_what_follows_it_is_sent(tmp_path):
    requests = [chat("long"), chat("turn", after="long"), chat("fine")]
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, requests, unsent={"long": "9,000 tokens, and 8,192 fit"}, loop=2)
        sent = len(standin.server.seen)
    for id in ("long", "long~2"):
        o = made.outcomes[id]
        assert (o.status, o.error_kind, o.sent_s) == ("failed", "context too long", None)
        assert o.error == "not sent: 9,000 tokens, and 8,192 fit"
    assert sent == 4 and made.outcomes["turn"].status == "ok" == made.outcomes["turn~2"].status


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "Please reduce the length of the messages.",
    ],
)
async def test_an_engine_that_says_so_itself_gets_the_same_kind(tmp_path, words):
    body = json.dumps({"error": {"message": words, "code": 400}}).encode()

    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        made = await replay(url, tmp_path, [chat("a")])
    assert (made.outcomes["a"].error_kind, made.outcomes["a"].error) == ("context too long", words)
