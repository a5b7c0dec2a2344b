"""JSON documents from a stream: arrays and objects are opened on the way, never held whole."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_DECODER = json.JSONDecoder()
_NEAR_END = 64

Path = tuple[str, ...]


class Broken(Exception):
    """The document is not JSON from `line` on."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


def is_lines(head: bytes) -> bool:
    """Whether a file that begins with `head` has one JSON value a line, or one document over many."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    if not lines:
        return True
    first = lines[0].strip()
    if len(lines) > 1 and _parses(lines[1].strip(), dict):
        return True
    if first.startswith(b"["):
        return len(lines) > 1 and _parses(first, list)
    if first.startswith(b"{") and not _parses(first, dict):
        if len(lines) == 1:
            return not _goes_on(first)
        # A torn or bad line still ends with its brace; a pretty-printed object goes on.
        return first.rstrip(b",").endswith(b"}")
    return True


def _goes_on(text: bytes) -> bool:
    """Whether another value follows the first one on the same line."""
    try:
        return bool(_DECODER.raw_decode(text.decode(errors="replace")))
    except (ValueError, RecursionError):
        return False


def is_wrapped(head: bytes) -> bool:
    """Whether the first document is an object that has its rows, which are objects, under `data`."""
    if not head.lstrip().startswith(b"{"):
        return False
    try:
        for _, path, value in documents([head.decode(errors="replace")], {("data",)}.__contains__, objects=True):
            if path in ((), ("data", "*")):
                return isinstance(value, dict)
    except Broken:
        pass
    return False


def documents(texts: Iterable[str], opened: Callable[[Path], bool], objects: bool) -> Iterator[tuple[int, Path, Any]]:
    """(line, path, value) of each value in each document; containers at `opened` paths are gone into.

    Documents follow each other, or are the members of an array, which is always opened. With `objects` they are
    opened too, and () stands for the end of one, else each comes whole with the path (). A member of an inner array
    has ``*`` in its path. Raises Broken.
    """
    reader = _Reader(texts)
    while first := reader.peek():
        if first == "[":
            for _ in _members(reader):
                yield from _document(reader, opened, objects)
        else:
            yield from _document(reader, opened, objects)


def _document(reader: "_Reader", opened: Callable[[Path], bool], objects: bool) -> Iterator[tuple[int, Path, Any]]:
    if objects and reader.peek() == "{":
        yield from _object(reader, (), opened)
        yield reader.line, (), None  # the end of this document
    else:
        yield reader.line, (), reader.value()


def _value(reader: "_Reader", path: Path, opened: Callable[[Path], bool]) -> Iterator[tuple[int, Path, Any]]:
    first = reader.peek()
    if first == "[" and opened(path):
        for _ in _members(reader):
            yield from _value(reader, (*path, "*"), opened)
    elif first == "{" and opened(path):
        yield from _object(reader, path, opened)
    else:
        yield reader.line, path, reader.value()


def _members(reader: "_Reader") -> Iterator[None]:
    """Stops before each member of an array, which the caller then reads."""
    reader.take("[")
    if reader.peek() == "]":
        reader.take("]")
        return
    while True:
        yield
        if reader.peek() != ",":
            break
        reader.take(",")
    reader.take("]")


def _object(reader: "_Reader", path: Path, opened: Callable[[Path], bool]) -> Iterator[tuple[int, Path, Any]]:
    reader.take("{")
    if reader.peek() == "}":
        reader.take("}")
        return
    while True:
        key = reader.value()
        if not isinstance(key, str):
            raise Broken(reader.line, "a key that is not text")
        reader.take(":")
        yield from _value(reader, (*path, key), opened)
        if reader.peek() != ",":
            break
        reader.take(",")
    reader.take("}")


class _Reader:
    """A window on the text; what was read is dropped."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts, self._text, self._at = iter(texts), "", 0
        self._ended, self._lines_before = False, 1

    @property
    def line(self) -> int:
        return self._lines_before + self._text.count("\n", 0, self._at)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(1):
                return ""

    def take(self, char: str) -> None:
        found = self.peek()
        if found != char:
            raise Broken(self.line, f"{char!r} expected, " + (f"not {found!r}" if found else "but the file ends"))
        self._at += 1

    def value(self) -> Any:
        self.peek()
        self._drop()
        wanted = 1 << 16
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR_END
                if not unfinished or not self._more(wanted):
                    line = self._lines_before + error.lineno - 1
                    raise Broken(line, f"not JSON ({error.msg})" if not self._ended else "cut or not JSON") from error
            except RecursionError as error:
                raise Broken(self.line, "nested too deeply") from error
            else:
                # A number may go on in the next piece.
                if end < len(self._text) or not self._more(wanted):
                    self._at = end
                    return value
            wanted *= 2

    def _drop(self) -> None:
        if self._at > 1 << 16:
            self._lines_before += self._text.count("\n", 0, self._at)
            self._text, self._at = self._text[self._at :], 0

    def _more(self, wanted: int) -> bool:
        pieces, size = [], 0
        while size < wanted:
            piece = next(self._texts, None)
            if piece is None:
                self._ended = True
                break
            pieces.append(piece)
            size += len(piece)
        if not pieces:
            return False
        self._text += "".join(pieces)
        return True


def _parses(text: bytes, kind: type) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False
