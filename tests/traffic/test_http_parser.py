import pytest

from tui.traffic.http.parser import ProtocolError, ResponseParser

CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;name=value\r\nhello\r\n1 \r\n,\r\n00B\r\n wide world\r\n0;last\r\nX-Sum: 7\r\nX-Sum: 8\r\n\r\n"
)


def parsed(data, method="POST", size=None):
    parser, body = ResponseParser(method), b""
    for start in range(0, len(data), size or len(data)):
        body += parser.feed(data[start : start + (size or len(data))])
    return parser, body


@pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
def test_chunks_extensions_and_trailers_however_it_is_cut(size):
    parser, body = parsed(CHUNKED, size=size)
    assert body == b"hello, wide world"
    assert parser.complete and parser.keep_alive and parser.excess == b""
    assert parser.trailers == {"x-sum": "7, 8"}


SIZES = {
    "alike": [9] * 40,
    "all others": range(1, 60),
    "one with line ends": [5] * 20 + [-8] + [5] * 20,
    "large and small": [3, 70_000, 3, 3, 3, 70_000, 3],
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [None, 7, 100, 1000])
@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"0\r\nX-Sum: 7\r\n\r\n", b"000\r\n\r\n", b"0\n\n"])
def test_many_chunks_of_one_read_are_those_that_were_sent(name, size, end):
    chunks = [b"\r\nx\r\n\r\ny" if n < 0 else b"%c" % (97 + n % 26) * n for n in SIZES[name]]
    data = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + end
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(2):  # the second time all sizes are known
        parser, body = parsed(head + data, size=size)
        assert body == b"".join(chunks) and parser.complete and parser.excess == b""
    parser.feed(b"")
    assert ResponseParser().feed_pieces(head + data) == chunks


def test_part_of_a_chunk_is_given_out_at_once():
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    assert parser.feed(b"a\r\n01234") == b"01234"
    assert parser.feed(b"56789\r\n") == b"56789"
    assert not parser.complete


@pytest.mark.parametrize("size", [None, 1])
def test_a_body_with_a_length_ends(size):
    parser, body = parsed(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\n\r\nnope", size=size)
    assert (parser.status, parser.reason, body, parser.complete) == (400, "Bad Request", b"nope", True)


def test_a_body_without_a_length_ends_with_the_connection():
    parser, body = parsed(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
    assert body == b"until the end" and not parser.complete
    assert parser.feed_eof() and not parser.keep_alive


def test_interim_answers_are_passed_over():
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    parser, body = parsed(interim + b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", size=1)
    assert (parser.status, body, parser.headers) == (200, b"ok", {"content-length": "2"})


@pytest.mark.parametrize(
    ("method", "head"),
    [
        ("POST", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ],
)
def test_answers_without_a_body_end_with_their_head(method, head):
    assert parsed(head, method)[0].complete


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\ncontent-length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n", True),
    ],
)
def test_whether_the_connection_stays(head, keeps):
    assert parsed(head)[0].keep_alive is keeps


def test_what_comes_after_an_answer_is_kept_apart():
    parser, body = parsed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 408")
    assert (body, parser.excess) == (b"ok", b"HTTP/1.1 408")


def test_a_cut_answer_is_not_complete():
    parser, _ = parsed(CHUNKED[:-3])
    assert not parser.feed_eof()


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20x OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname : x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x5\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: aaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 4000,
    ],
)
def test_what_is_not_http_is_refused(data):
    with pytest.raises(ProtocolError):
        parsed(data)
