"""An incremental parser for HTTP/1.1 answers (RFC 9112), without any I/O."""

from tui.traffic.http.message import DIGITS, At, MessageParser, ProtocolError

Fields = list[tuple[str, str]]


class ResponseParser(MessageParser):
    """`status` is None until the final (not 1xx) head is complete; `interim` has the heads before it.

    A client that did not pipeline must not reuse a connection whose answer left an `excess`.
    """

    def __init__(self, method: str = "POST") -> None:
        super().__init__()
        self.method = method
        self.status: int | None = None
        self.reason = ""
        self.interim: list[tuple[int, str, Fields]] = []
        self._status_line = (0, "", False)

    def _parse_start(self, line: bytes) -> None:
        version, _, rest = line.partition(b" ")
        code, _, reason = rest.strip().partition(b" ")
        if version not in (b"HTTP/1.1", b"HTTP/1.0") or len(code) != 3 or not DIGITS.issuperset(code):
            raise ProtocolError(f"not an HTTP/1.1 answer: {line[:40]!r}")
        self._status_line = (int(code), reason.decode("latin-1").strip(), version == b"HTTP/1.1")

    def _head_complete(self) -> None:
        code, reason, modern = self._status_line
        if code == 101:
            raise ProtocolError("the server switched protocols unasked")
        if 100 <= code < 200:  # the final answer follows
            self.interim.append((code, reason, self._fields))
            self._at = At.START
            return
        self.status, self.reason = code, reason
        self._take_head(modern)
        if self.method == "HEAD" or code in (204, 304):
            self._finish()
        elif not self._begin_framed_body():
            self._at, self.keep_alive = At.UNTIL_CLOSE, False


__all__ = ["Fields", "ProtocolError", "ResponseParser"]
