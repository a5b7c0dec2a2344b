import asyncio
import socket
import ssl
import sys
import time
from time import monotonic_ns

import pytest
from replaying import chat, replay
from standin.fixture import serving

from tui.errors import VtuneError
from tui.traffic.http.connection import ConnectionLost, ProtocolError, open_connection
from tui.traffic.http.pool import MAX_IDLE_NS, Pool
from tui.traffic.http.target import encode_request, parse_target
from tui.traffic.http.wire import PlainWire, dial


class Collected:
    def __init__(self):
        self.sent = self.first = None
        self.body = b""
        self.stamps = []

    def on_sent(self, at):
        self.sent = at

    def on_body(self, pieces, at, kernel):
        self.body += b"".join(pieces)
        self.stamps.append((at, kernel))


async def get(url, path="/version", connection=None, tls=None):
    target = parse_target(url)
    connection = connection or await open_connection(target, tls)
    seen = Collected()
    head = await connection.exchange(encode_request(target, "GET", path, [], b""), seen, "GET")
    return head, seen, connection


async def server(answer):
    """A server that answers every connection with `answer`, and counts them."""
    count = []

    async def serve(reader, writer):
        count.append(1)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    return listening, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", count


async def test_a_plain_answer_over_ipv4_is_stamped_after_it_was_asked():
    async with serving() as standin:
        head, seen, connection = await get(standin.url)
        assert head.status == 200 and b"0.32.0" in seen.body
        assert all(at >= seen.sent for at, _ in seen.stamps)
        assert connection.reusable
        connection.close()


async def test_ipv6():
    try:
        async with serving(host="::1") as standin:
            head, _, connection = await get(standin.url)
            assert head.status == 200
            connection.close()
    except OSError as error:
        pytest.skip(f"no IPv6 loopback here: {error}")


async def test_tls_checks_the_certificate(certificate):
    cert, own = certificate
    trusting = ssl.create_default_context(cafile=str(cert))
    async with serving(tls=own) as standin:
        head, seen, connection = await get(standin.url, tls=trusting)
        assert head.status == 200 and b"0.32.0" in seen.body
        head, _, _ = await get(standin.url, connection=connection)  # and once more on the same connection
        assert head.status == 200
        connection.close()
        with pytest.raises(OSError, match="certificate"):
            await get(standin.url)


async def test_a_replay_tells_why_a_certificate_is_not_trusted(certificate, tmp_path):
    async with serving(tls=certificate[1]) as standin:
        made = await replay(standin.url, tmp_path, [chat("a")])
    failed = made.outcomes["a"]
    assert failed.error_kind == "connection" and failed.error.startswith("TLS: ")
    assert "self" in failed.error and "signed" in failed.error  # OpenSSL's words, with a hyphen or without


async def test_the_base_path_and_query_stay_in_the_request():
    listening, url, _ = await server(b"HTTP/1.1 204 No Content\r\n\r\n")
    async with listening:
        head, _, _ = await get(f"{url}/base?tenant=1")
        assert head.status == 204
    assert parse_target("http://h/base/?tenant=1").path("/v1/x?y=2") == "/base/v1/x?y=2&tenant=1"
    assert parse_target("https://h/proxy/v1").path("/v1/models") == "/proxy/v1/models"
    assert parse_target("http://[::1]:8000").authority == "[::1]:8000"


BAD = ("localhost:8000", "ftp://h", "http://", "http://h:99999", "http://u:p@h", "http://h/a b")


@pytest.mark.parametrize("url", BAD)
def test_urls_that_cannot_be_meant_are_refused(url):
    with pytest.raises(VtuneError):
        parse_target(url)


async def test_a_connection_idle_over_four_seconds_is_not_used_again():
    clock = [0]
    async with serving() as standin:
        pool = Pool(parse_target(standin.url), now=lambda: clock[0])
        first = await pool.connect()
        await get(standin.url, connection=first)
        pool.give(first)
        clock[0] = MAX_IDLE_NS
        assert pool.idle() is first
        pool.give(first)
        clock[0] += MAX_IDLE_NS + 1
        assert pool.idle() is None
        assert first.closed


async def test_a_connection_that_would_be_too_old_when_due_is_not_taken():
    async with serving() as standin:
        pool = Pool(parse_target(standin.url), now=lambda: 0)
        pool.give(await pool.connect())
        assert pool.idle(until_ns=MAX_IDLE_NS + 1) is None


async def test_a_connection_that_the_server_closed_while_idle_is_not_reusable():
    async with serving(env={"STANDIN_KEEP_ALIVE_S": "0.05"}) as standin:
        _, _, connection = await get(standin.url)
        assert connection.reusable
        async with asyncio.timeout(30):
            while connection.reusable:
                await asyncio.sleep(0.01)
        with pytest.raises(ConnectionLost) as caught:
            await get(standin.url, connection=connection)
        assert not caught.value.started


@pytest.mark.parametrize(
    ("answer", "started"),
    [(b"", False), (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", True), (b"HTTP/1.1 200", True)],
)
async def test_a_lost_connection_tells_whether_the_answer_had_begun(answer, started):
    listening, url, _ = await server(answer)
    async with listening:
        with pytest.raises(ConnectionLost) as caught:
            await get(url)
        assert caught.value.started is started


async def test_another_protocol_is_a_protocol_error():
    listening, url, _ = await server(b"SSH-2.0-OpenSSH_9.6\r\n")
    async with listening:
        with pytest.raises(ProtocolError):
            await get(url)


async def test_a_request_larger_than_the_socket_takes_is_sent_whole():
    async with serving() as standin:
        target = parse_target(standin.url)
        connection = await open_connection(target)
        body = b'{"prompt": "' + b" word" * 1_000_000 + b'"}'
        seen = Collected()
        await connection.exchange(encode_request(target, "POST", "/tokenize", [], body), seen)
        assert b'"count": 1000000' in seen.body
        assert connection.reusable
        connection.close()


async def test_cancelling_closes_the_connection_so_that_the_engine_stops():
    async with serving() as standin:
        target = parse_target(standin.url)
        connection = await open_connection(target)
        body = b'{"prompt": "x", "stream": true, "max_tokens": 4, "standin": {"hang_after": 1}}'
        seen = Collected()
        data = encode_request(target, "POST", "/v1/completions", [], body)
        task = asyncio.create_task(connection.exchange(data, seen))
        async with asyncio.timeout(30):
            while not seen.body:
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.wait([task])
            while not standin.server.aborted:
                await asyncio.sleep(0.005)
        assert connection.closed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what it receives")
async def test_our_own_delay_is_not_in_the_stamps():
    """The loop is busy while the bytes arrive; their time is still that of their arrival."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        mine, (peer, _) = await dial(parse_target(f"http://127.0.0.1:{port}"), 5), listening.accept()
    came = asyncio.Queue()
    wire = PlainWire(mine, lambda data, at, kernel: came.put_nowait((at, kernel)), lambda error: None)
    with peer:
        async with asyncio.timeout(30):
            kernel = False
            while not kernel:  # the kernel switches stamping on a moment after the first socket asks for it
                peer.send(b"x")
                _, kernel = await came.get()
            peer.send(b"y")
            sent = monotonic_ns()
            time.sleep(0.2)
            at, kernel = await came.get()
    wire.close()
    assert kernel
    assert at < sent + 100_000_000
