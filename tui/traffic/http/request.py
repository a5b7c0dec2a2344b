"""An incremental parser for HTTP/1.1 requests (RFC 9112), without any I/O: the server's side of the core."""

from tui.traffic.http.message import MessageParser, ProtocolError

_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class RequestParser(MessageParser):
    """`method` is empty until the head is complete. `modern` is HTTP/1.1; a request of 1.0 takes no chunks.

    Stricter than the reader of answers, for whoever passes a request on must read its end where the next one does:
    a length beside a coding, a folded header and a blank in a target are refused.
    """

    def __init__(self) -> None:
        super().__init__()
        self.method = ""
        self.target = ""
        self.modern = True
        self._request_line = ("", "", True)

    @property
    def expects_continue(self) -> bool:
        return self.modern and self.headers.get("expect", "").lower() == "100-continue"

    def _parse_start(self, line: bytes) -> None:
        method, _, rest = line.partition(b" ")
        target, _, version = rest.partition(b" ")
        if version not in (b"HTTP/1.1", b"HTTP/1.0") or not method or not _TOKEN.issuperset(method):
            raise ProtocolError(f"not an HTTP/1.1 request: {line[:40]!r}")
        if not target or not all(0x21 <= byte <= 0x7E for byte in target):
            raise ProtocolError("a target with signs that must be percent-encoded")
        self._request_line = (method.decode(), target.decode(), version == b"HTTP/1.1")

    def _field(self, line: bytes) -> None:
        if line[:1] in b" \t":
            raise ProtocolError("a folded header")
        if b"\0" in line or b"\r" in line:
            raise ProtocolError("a header with control codes")
        super()._field(line)

    def _head_complete(self) -> None:
        method, self.target, self.modern = self._request_line
        self._take_head(self.modern)
        if "transfer-encoding" in self.headers and ("content-length" in self.headers or not self.modern):
            raise ProtocolError("a transfer coding beside a content-length, or in HTTP/1.0")
        self.method = method
        if not self._begin_framed_body():
            self._finish()
