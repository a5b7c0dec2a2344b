"""An incremental parser for HTTP/1.1 answers (RFC 9112), without any I/O."""

from enum import Enum, auto

_MAX_HEAD = 1 << 16
_MAX_LINE = 1 << 12
_DIGITS = frozenset(b"0123456789")
_HEX = frozenset(b"0123456789abcdefABCDEF")


class ProtocolError(Exception):
    """The peer does not speak HTTP/1.1 as we know it."""


class _At(Enum):
    STATUS = auto()
    HEADERS = auto()
    LENGTH = auto()  # a body of known length
    CHUNK_SIZE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILERS = auto()
    UNTIL_CLOSE = auto()
    DONE = auto()


class ResponseParser:
    """Feed it what was read; it gives body bytes back as soon as they are there.

    `status` is None until the final (not 1xx) head is complete. After `complete`, what was read beyond the answer
    is in `excess`; a client that did not pipeline must not reuse such a connection.
    """

    def __init__(self, method: str = "POST") -> None:
        self.method = method
        self.status: int | None = None
        self.reason = ""
        self.headers: dict[str, str] = {}  # lower-case names; repeated fields are joined with commas
        self.trailers: dict[str, str] = {}
        self.complete = False
        self.keep_alive = False
        self.excess = b""
        self.started = False  # any byte of an answer was seen
        self._at = _At.STATUS
        self._buffer = b""
        self._left = 0
        self._head_size = 0
        self._fields: list[tuple[str, str]] = []
        self._status_line = (0, "", False)

    def feed(self, data: bytes) -> bytes:
        """Body bytes that `data` completed (without chunk framing); raises ProtocolError."""
        if not data:
            return b""
        self.started = True
        if self._buffer:
            data, self._buffer = self._buffer + data, b""
        pos, pieces = 0, []
        while pos < len(data) and not self.complete:
            if self._at is _At.CHUNK or self._at is _At.LENGTH:
                piece = data[pos : pos + self._left]
                pos += len(piece)
                self._left -= len(piece)
                pieces.append(piece)
                if not self._left:
                    self._end_of_piece()
            elif self._at is _At.UNTIL_CLOSE:
                pieces.append(data[pos:])
                pos = len(data)
            else:
                end = data.find(b"\n", pos)
                if end < 0:
                    self._keep(data[pos:])
                    return b"".join(pieces)
                self._line(data[pos : end - 1 if end > pos and data[end - 1] == 13 else end])
                pos = end + 1
        self.excess = data[pos:]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def feed_eof(self) -> bool:
        """The peer closed. True when that ends the answer, False when it cuts it short."""
        if self._at is _At.UNTIL_CLOSE:
            self.complete = True
        return self.complete

    def _keep(self, rest: bytes) -> None:
        if len(rest) > (_MAX_HEAD if self._at in (_At.STATUS, _At.HEADERS, _At.TRAILERS) else _MAX_LINE):
            raise ProtocolError("a line without end")
        self._buffer = rest

    def _end_of_piece(self) -> None:
        if self._at is _At.LENGTH:
            self._finish()
        else:
            self._at = _At.CHUNK_END

    def _finish(self) -> None:
        self.complete, self._at = True, _At.DONE

    def _line(self, line: bytes) -> None:
        if self._at is _At.CHUNK_SIZE:
            self._chunk_size(line)
        elif self._at is _At.CHUNK_END:
            if line:
                raise ProtocolError("a chunk is longer than it says")
            self._at = _At.CHUNK_SIZE
        elif self._at is _At.STATUS:
            if line:  # an empty line before the status line is to be ignored
                self._parse_status(line)
        elif line:
            self._field(line)
        elif self._at is _At.TRAILERS:
            self.trailers = self._joined()
            self._finish()
        else:
            self._head_complete()

    def _chunk_size(self, line: bytes) -> None:
        digits = line.split(b";", 1)[0].strip()  # what follows the semicolon are extensions
        if not digits or not _HEX.issuperset(digits) or len(digits) > 15:
            raise ProtocolError(f"chunk size {line[:20]!r}")
        self._left = int(digits, 16)
        self._at = _At.CHUNK if self._left else _At.TRAILERS
        self._fields, self._head_size = [], 0

    def _parse_status(self, line: bytes) -> None:
        version, _, rest = line.partition(b" ")
        code, _, reason = rest.strip().partition(b" ")
        if version not in (b"HTTP/1.1", b"HTTP/1.0") or len(code) != 3 or not _DIGITS.issuperset(code):
            raise ProtocolError(f"not an HTTP/1.1 answer: {line[:40]!r}")
        self._status_line = (int(code), reason.decode("latin-1").strip(), version == b"HTTP/1.1")
        self._at, self._fields, self._head_size = _At.HEADERS, [], len(line)

    def _field(self, line: bytes) -> None:
        self._head_size += len(line)
        if self._head_size > _MAX_HEAD:
            raise ProtocolError("headers of more than 64 KiB")
        if line[:1] in b" \t":  # obsolete folding
            if not self._fields:
                raise ProtocolError("a header that begins with a blank")
            name, value = self._fields[-1]
            self._fields[-1] = (name, f"{value} {line.decode('latin-1').strip()}")
            return
        name_bytes, colon, raw = line.partition(b":")
        if not colon or not name_bytes or name_bytes != name_bytes.strip():
            raise ProtocolError(f"header {line[:40]!r}")
        self._fields.append((name_bytes.decode("latin-1").lower(), raw.decode("latin-1").strip()))

    def _joined(self) -> dict[str, str]:
        joined: dict[str, str] = {}
        for name, value in self._fields:
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return joined

    def _head_complete(self) -> None:
        code, reason, modern = self._status_line
        if code == 101:
            raise ProtocolError("the server switched protocols unasked")
        if 100 <= code < 200:  # interim: the final answer follows
            self._at = _At.STATUS
            return
        self.status, self.reason, self.headers = code, reason, self._joined()
        words = {word.strip().lower() for word in self.headers.get("connection", "").split(",")}
        self.keep_alive = "close" not in words and (modern or "keep-alive" in words)
        self._begin_body(code)

    def _begin_body(self, code: int) -> None:
        coding = self.headers.get("transfer-encoding")
        length = self.headers.get("content-length")
        if self.method == "HEAD" or code in (204, 304):
            self._finish()
        elif coding is not None:
            codings = [word.strip().lower() for word in coding.split(",")]
            if codings == ["chunked"]:
                self._at = _At.CHUNK_SIZE
            else:
                raise ProtocolError(f"transfer-encoding {coding!r}")
        elif length is not None:
            self._left = _content_length(length)
            self._at = _At.LENGTH
            if not self._left:
                self._finish()
        else:
            self._at, self.keep_alive = _At.UNTIL_CLOSE, False


def _content_length(value: str) -> int:
    words = {word.strip() for word in value.split(",")}
    word = words.pop()
    if words or not (word.isascii() and word.isdigit()):  # repeated equal values are allowed
        raise ProtocolError(f"content-length {value!r}")
    return int(word)
