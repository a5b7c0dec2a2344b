"""Follows a log file by reading what was added to it; lines come out as plain text."""

import os
from collections import deque
from pathlib import Path

from textual.content import Content

from tui.widgets.plain import plain

_CHUNK = 256 * 1024
"""Bytes read in one look, so that a log that grows fast can't hold up the screen."""


class LogTail:
    """The last `keep` lines of a file that may not exist yet, grow, or be replaced."""

    def __init__(self, keep: int = 400, chunk: int = _CHUNK) -> None:
        self._chunk = chunk
        self.lines: deque[str] = deque(maxlen=keep)
        self._path: Path | None = None
        self._offset = 0
        self._partial = b""
        self.shrunk = False
        """Whether the file was found shorter at the last look, so that its lines came anew."""

    def look(self, path: Path | None) -> list[str]:
        """The lines added since the last look; another `path` starts over."""
        if path != self._path:
            self._path, self._offset, self._partial = path, 0, b""
            self.lines.clear()
        self.shrunk = False
        added = [] if path is None else self._read(path)
        self.lines.extend(added)
        return added

    def _read(self, path: Path) -> list[str]:
        try:
            with open(path, "rb") as file:
                end = os.fstat(file.fileno()).st_size
                if end < self._offset:
                    self._offset, self._partial, self.shrunk = 0, b"", True
                start = max(self._offset, end - self._chunk)
                if start > self._offset:
                    self._partial = b""
                file.seek(start)
                data = file.read(self._chunk)
        except OSError:
            return []
        self._offset = start + len(data)
        *whole, self._partial = (self._partial + data).split(b"\n")
        # A progress bar rewrites its line with carriage returns: the last state is what counts.
        return [plain(line.rstrip(b"\r").rsplit(b"\r", 1)[-1].decode("utf-8", "replace")) for line in whole]


def severity(line: str) -> str:
    """Style of a log line by the level that it carries near its start."""
    head = line[:120]
    if "ERROR" in head or "CRITICAL" in head or "Traceback" in head or "Error:" in head:
        return "$error"
    return "$warning" if "WARNING" in head else ""


def log_lines(lines: tuple[str, ...], width: int, most: int) -> list[Content]:
    """The last `most` lines that say something, without the prefix that the engine gives each."""
    from tui.engine.startup import clean

    said = [(text, severity(line) or "$dim") for line in lines if (text := clean(line).text.strip())]
    return [Content.styled(plain(text, width), style) for text, style in said[-most:]]
