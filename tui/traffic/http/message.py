"""What an HTTP/1.1 request and an answer have in common (RFC 9112): header lines and the framing of a body. No I/O."""

from enum import Enum, auto

_MAX_HEAD = 1 << 16
_MAX_LINE = 1 << 12
DIGITS = frozenset(b"0123456789")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_SIZES: dict[bytes, int] = {}  # chunk sizes met so far, by their digits


class ProtocolError(Exception):
    """The peer does not speak HTTP/1.1 as we know it."""


class At(Enum):
    """Where in a message its parser is."""

    START = auto()
    HEADERS = auto()
    LENGTH = auto()  # a body of known length
    CHUNK_SIZE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILERS = auto()
    UNTIL_CLOSE = auto()
    DONE = auto()


_CHUNK_SIZE = At.CHUNK_SIZE  # a look-up in an Enum takes longer than what is done with it


class MessageParser:
    """Feed it what was read; it gives body bytes back as soon as they are there.

    After `complete`, what was read beyond the message is in `excess`. Whoever passes the message on unparsed needs
    `head_end`: how many bytes of the piece that completed the head belong to it.
    """

    def __init__(self) -> None:
        self.fields: list[tuple[str, str]] = []  # names as sent
        self.headers: dict[str, str] = {}  # lower-case names; repeated fields are joined with commas
        self.trailers: dict[str, str] = {}
        self.complete = False
        self.keep_alive = False
        self.chunked = False
        self.excess = b""
        self.head_end: int | None = None
        self.started = False  # any byte of a message was seen
        self._at = At.START
        self._buffer = b""
        self._left = 0
        self._head_size = 0
        self._fields: list[tuple[str, str]] = []

    def _parse_start(self, line: bytes) -> None:
        raise NotImplementedError

    def _head_complete(self) -> None:
        """Called after the empty line; leaves `_at` at a body, at DONE, or at START when another head follows."""
        raise NotImplementedError

    @property
    def between_messages(self) -> bool:
        """Whether no byte of a message waits for its rest."""
        return not self._buffer and self._at in (At.START, At.DONE)

    def feed(self, data: bytes) -> bytes:
        """Body bytes that `data` completed (without chunk framing); raises ProtocolError."""
        return b"".join(self.feed_pieces(data))

    def feed_pieces(self, data: bytes) -> list[bytes]:
        """The same as they were framed: a chunk, or what came of it, is a piece."""
        pieces: list[bytes] = []
        if self._at is _CHUNK_SIZE and not self._buffer:
            pos = _whole_chunks(data, 0, pieces)
            if pos == len(data):
                return pieces
            data = data[pos:]
        if not data:
            return pieces
        self.started = True
        kept = len(self._buffer)
        if self._buffer:
            data, self._buffer = self._buffer + data, b""
        pos = 0
        while pos < len(data) and not self.complete:
            if self._at is At.CHUNK or self._at is At.LENGTH:
                piece = data[pos : pos + self._left]
                pos += len(piece)
                self._left -= len(piece)
                pieces.append(piece)
                if not self._left:
                    self._end_of_piece()
            elif self._at is At.UNTIL_CLOSE:
                pieces.append(data[pos:])
                pos = len(data)
            else:
                if self._at is At.CHUNK_SIZE:
                    pos = _whole_chunks(data, pos, pieces)
                end = data.find(b"\n", pos)
                if end < 0:
                    self._keep(data[pos:])
                    return pieces
                in_head = self._at is At.HEADERS
                self._line(data[pos : end - 1 if end > pos and data[end - 1] == 13 else end])
                pos = end + 1
                if in_head and self._at not in (At.HEADERS, At.START):
                    self.head_end = pos - kept
        self.excess = data[pos:]
        return pieces

    def feed_eof(self) -> bool:
        """The peer closed. True when that ends the message, False when it cuts it short."""
        if self._at is At.UNTIL_CLOSE:
            self.complete = True
        return self.complete

    def _keep(self, rest: bytes) -> None:
        if len(rest) > (_MAX_HEAD if self._at in (At.START, At.HEADERS, At.TRAILERS) else _MAX_LINE):
            raise ProtocolError("a line without end")
        self._buffer = rest

    def _end_of_piece(self) -> None:
        if self._at is At.LENGTH:
            self._finish()
        else:
            self._at = At.CHUNK_END

    def _finish(self) -> None:
        self.complete, self._at = True, At.DONE

    def _line(self, line: bytes) -> None:
        if self._at is At.CHUNK_SIZE:
            self._chunk_size(line)
        elif self._at is At.CHUNK_END:
            if line:
                raise ProtocolError("a chunk is longer than it says")
            self._at = At.CHUNK_SIZE
        elif self._at is At.START:
            if line:  # an empty line before the first line is to be ignored
                self._parse_start(line)
                self._at, self._fields, self._head_size = At.HEADERS, [], len(line)
        elif line:
            self._field(line)
        elif self._at is At.TRAILERS:
            self.trailers = self._joined()
            self._finish()
        else:
            self._head_complete()

    def _chunk_size(self, line: bytes) -> None:
        digits = line.split(b";", 1)[0].strip()  # what follows the semicolon are extensions
        if not digits or not _HEX.issuperset(digits) or len(digits) > 15:
            raise ProtocolError(f"chunk size {line[:20]!r}")
        self._left = int(digits, 16)
        self._at = At.CHUNK if self._left else At.TRAILERS
        self._fields, self._head_size = [], 0

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
        self._fields.append((name_bytes.decode("latin-1"), raw.decode("latin-1").strip()))

    def _joined(self) -> dict[str, str]:
        joined: dict[str, str] = {}
        for name, value in self._fields:
            name = name.lower()
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return joined

    def _take_head(self, modern: bool) -> None:
        """`fields`, `headers` and `keep_alive` from what was read; `modern` is HTTP/1.1."""
        self.fields, self.headers = self._fields, self._joined()
        words = {word.strip().lower() for word in self.headers.get("connection", "").split(",")}
        self.keep_alive = "close" not in words and (modern or "keep-alive" in words)

    def _begin_framed_body(self) -> bool:
        """Begin a body that its headers frame; False when they frame none."""
        coding = self.headers.get("transfer-encoding")
        length = self.headers.get("content-length")
        if coding is not None:
            codings = [word.strip().lower() for word in coding.split(",")]
            if codings != ["chunked"]:
                raise ProtocolError(f"transfer-encoding {coding!r}")
            self._at, self.chunked = At.CHUNK_SIZE, True
        elif length is not None:
            self._left = _content_length(length)
            self._at = At.LENGTH
            if not self._left:
                self._finish()
        return coding is not None or length is not None


def _whole_chunks(data: bytes, pos: int, pieces: list[bytes]) -> int:
    """Take the chunks that lie whole and plain in `data` from `pos` on; gives where the first other one begins.

    Only a shortcut through `MessageParser._line`: a stream has a chunk per token, so this is where reading costs.
    """
    many = True
    while (end := data.find(b"\r\n", pos)) > pos:
        size = _SIZES.get(digits := data[pos:end])
        if size is None:
            if end - pos > 7 or not _HEX.issuperset(digits):
                break
            size = int(digits, 16)
            if size and len(_SIZES) < 4096:
                _SIZES[digits] = size
        stop = end + 2 + size
        if not size or data[stop : stop + 2] != b"\r\n":
            break
        pieces.append(data[end + 2 : stop])
        pos = stop + 2
        if many and len(data) - pos > 2 * size:
            pos, many = _many_chunks(data, pos, pieces), False
    return pos


def _many_chunks(data: bytes, pos: int, pieces: list[bytes]) -> int:
    """The same in a few passes over all chunks at once; takes none where a size is new or a chunk has a line end."""
    parts = data[pos:].split(b"\r\n")
    whole = (len(parts) - 1) // 2 * 2
    sizes, chunks = parts[0:whole:2], parts[1:whole:2]
    if sizes and sizes[-1] == b"0":  # the last chunk, which has none
        sizes.pop()
        chunks.pop()
    if list(map(_SIZES.get, sizes)) != list(map(len, chunks)):
        return pos
    pieces += chunks
    return pos + sum(map(len, sizes)) + sum(map(len, chunks)) + 4 * len(sizes)


def _content_length(value: str) -> int:
    words = {word.strip() for word in value.split(",")}
    word = words.pop()
    if words or not (word.isascii() and word.isdigit()):  # repeated equal values are allowed
        raise ProtocolError(f"content-length {value!r}")
    return int(word)
