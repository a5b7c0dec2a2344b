import pytest

from tui.traffic.http.parser import ProtocolError, ResponseParser
from tui.traffic.http.request import RequestParser

CHUNKED = (
    b"\r\nPOST /v1/completions?x=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;name=value\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 7\r\n\r\nGET / HTTP/1.1\r\n"
)


def parsed(data, size=None):
    parser, body = RequestParser(), b""
    size = size or len(data)
    for start in range(0, len(data), size):
        body += parser.feed(data[start : start + size])
        if parser.complete:
            return parser, body, parser.excess + data[start + size :]
    return parser, body, b""


@pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
def test_a_chunked_request_and_what_follows_it_however_it_is_cut(size):
    parser, body, rest = parsed(CHUNKED, size)
    assert (parser.method, parser.target, body) == ("POST", "/v1/completions?x=1", b"hello world")
    assert parser.fields[1:3] == [("X-A", "1"), ("x-a", "2")]
    assert parser.keep_alive and parser.chunked and rest == b"GET / HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("head", "keeps"),
    [(b"HTTP/1.1", True), (b"HTTP/1.1\r\nConnection: x, Close", False), (b"HTTP/1.0", False),
     (b"HTTP/1.0\r\nconnection: Keep-Alive", True)],
)  # fmt: skip
def test_whether_the_connection_stays(head, keeps):
    parser, _, _ = parsed(b"GET / " + head + b"\r\n\r\n")
    assert parser.complete and parser.keep_alive is keeps


def test_a_body_that_is_announced_waits_and_says_so():
    parser, _, _ = parsed(b"POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
    assert parser.expects_continue and not parser.complete
    assert parser.feed(b"{}") == b"{}" and parser.complete


BAD = {
    "another protocol": b"\x16\x03\x01\x02\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\n",
    "a blank in the target": b"GET /a b HTTP/1.1\r\n\r\n",
    "length and coding": b"POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n",
    "a signed length": b"POST / HTTP/1.1\r\ncontent-length: +3\r\n\r\n",
    "chunks in 1.0": b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n",
    "a coding that hides the end": b"POST / HTTP/1.1\r\ntransfer-encoding: chunked, identity\r\n\r\n",
    "folding": b"GET / HTTP/1.1\r\na: b\r\n c\r\n\r\n",
    "a blank before the colon": b"GET / HTTP/1.1\r\ncontent-length : 3\r\n\r\n",
    "a header without end": b"GET / HTTP/1.1\r\na: " + b"b" * 70_000,
    "a carriage return inside": b"GET / HTTP/1.1\r\na: b\rc: d\r\n\r\n",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_could_be_read_in_two_ways_is_refused(data):
    with pytest.raises(ProtocolError):
        parsed(data)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_end_of_an_answers_head_is_known_in_the_piece_that_brought_it(size):
    data = b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n"
    data += b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    parser, raw = ResponseParser(), b""
    for start in range(0, len(data), size):
        piece, begun = data[start : start + size], parser.status is not None
        parser.feed(piece)
        if parser.status is not None:
            raw += piece if begun else piece[parser.head_end :]
    assert raw == b"3\r\nabc\r\n0\r\n\r\n" and parser.complete
    assert parser.interim == [(103, "Early", [("Link", "</x>")])]
