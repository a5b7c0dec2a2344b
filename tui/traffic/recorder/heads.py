"""The heads that pass through: what belongs to one connection only stays behind (RFC 9110, 7.6.1)."""

import json
from collections.abc import Iterable, Iterator

from tui.traffic.http.message import MessageParser
from tui.traffic.http.parser import Fields, ResponseParser
from tui.traffic.http.request import RequestParser
from tui.traffic.http.target import Target

_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "upgrade", "proxy-authenticate", "proxy-authorization")
)
_FRAMING = frozenset(("content-length", "transfer-encoding"))
_REASONS = {400: "Bad Request", 502: "Bad Gateway", 504: "Gateway Timeout"}


def request_head(request: RequestParser, target: Target) -> bytes:
    """For the upstream: its own Host, everything else as the client sent it."""
    path = request.target if request.target == "*" else target.path(request.target)
    lines = [f"{request.method} {path} HTTP/1.1", f"Host: {target.authority}"]
    lines += _lines(_end_to_end(request, {"host", "transfer-encoding"}))
    if request.chunked:
        lines.append("Transfer-Encoding: chunked")
    return _joined(lines)


def answer_head(answer: ResponseParser, closing: bool, unchunked: bool) -> bytes:
    """For the client; `unchunked` is for one of HTTP/1.0, whose body ends with the connection."""
    dropped = set(_FRAMING) if unchunked else set()
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}", *_lines(_end_to_end(answer, dropped))]
    if closing:
        lines.append("Connection: close")
    return _joined(lines)


def interim_head(code: int, reason: str, fields: Fields) -> bytes:
    return _joined([f"HTTP/1.1 {code} {reason}", *_lines(fields)])


def error_answer(status: int, message: str) -> bytes:
    """A whole answer of our own, in OpenAI's form, after which the connection ends."""
    kind = "invalid_request_error" if status < 500 else "upstream_error"
    error = {"message": f"vtune record: {message}", "type": kind, "param": None, "code": status}
    body = json.dumps({"error": error}).encode()
    lines = [
        f"HTTP/1.1 {status} {_REASONS[status]}", "Content-Type: application/json",
        f"Content-Length: {len(body)}", "Connection: close",
    ]  # fmt: skip
    return _joined(lines) + body


def _end_to_end(message: MessageParser, dropped: Iterable[str]) -> Iterator[tuple[str, str]]:
    named = {word.strip().lower() for word in message.headers.get("connection", "").split(",")}
    # A sender that lists the length among its hop-by-hop headers must not make the body's end unknown.
    left_out = _HOP.union(dropped, named - _FRAMING - {"host"})
    return ((name, value) for name, value in message.fields if name.lower() not in left_out)


def _lines(fields: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name}: {value}" for name, value in fields]


def _joined(lines: list[str]) -> bytes:
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
