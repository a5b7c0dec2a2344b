"""Splitting a body into server-sent events, by bytes only.

A line ends with LF, CR LF or CR, an event with an empty line. Nothing else splits: U+2028 and U+0085 may stand inside
JSON, and a character may be cut by any read.
"""


class EventSplitter:
    """Feed it body bytes, get the events they completed, each without its final empty line."""

    __slots__ = ("_after_cr", "_first", "_rest", "_seen_cr")

    def __init__(self) -> None:
        self._rest = b""
        self._first = True
        self._seen_cr = False
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._seen_cr or b"\r" in data:
            data = self._normalise(data)
        if self._first:
            data = self._rest + data
            self._rest = b""
            if len(data) < 3 and b"\xef\xbb\xbf".startswith(data):
                self._rest = data
                return []
            data, self._first = data.removeprefix(b"\xef\xbb\xbf"), False
        if self._rest:
            data = self._rest + data
        cut = data.rfind(b"\n\n")
        if cut < 0:
            self._rest = data
            return []
        self._rest = data[cut + 2 :]
        if b"\n\n\n" not in data and data[0] != 10:
            return data[:cut].split(b"\n\n")
        return [event for part in data[:cut].split(b"\n\n") if (event := part.strip(b"\n"))]

    @property
    def between(self) -> bool:
        """Whether what comes next begins an event, and lines end with LF so far."""
        return not (self._rest or self._seen_cr)

    def flush(self) -> bytes:
        """What came after the last complete event, for a server that closes without the last empty line."""
        rest, self._rest = self._rest.strip(b"\n"), b""
        return rest

    def _normalise(self, data: bytes) -> bytes:
        self._seen_cr = True
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if data:
            self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def event_data(event: bytes) -> bytes | None:
    """Joined ``data`` lines of an event; None for comments and events without data."""
    if event.startswith(b"data:") and b"\n" not in event:
        return event[6:] if event[5:6] == b" " else event[5:]
    lines = []
    for line in event.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            lines.append(value[1:] if value[:1] == b" " else value)
    return b"\n".join(lines) if lines else None
