"""The bytes of a file to import, as lines of UTF-8: any compression, any byte-order mark, flat memory."""

import codecs
import contextlib
import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic import compressed
from tui.traffic.importers import badline, walk
from tui.traffic.importers.found import Skip
from tui.traffic.importers.sniff import delimiter

HEAD = 1 << 18
_CHUNK = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
csv.field_size_limit(1 << 30)  # the module's own, 128 KiB, is shorter than many a prompt


class _Cut(Exception):
    """The file can't be read to its end."""


@dataclass(slots=True)
class Source:
    """One file; `notes` are what was odd about it as a file, not about its rows."""

    path: Path
    encoding: str | None = None
    strict: bool = False
    notes: list[str] = field(default_factory=list)

    def head(self) -> bytes:
        """The first bytes, decoded to UTF-8 where they can be; for detection only."""
        raw = bytearray()
        with contextlib.suppress(_Cut):
            for chunk in self._read():
                raw += chunk
                if len(raw) >= HEAD:
                    break
        return self._as_utf8(bytes(raw[:HEAD]))

    def _as_utf8(self, raw: bytes) -> bytes:
        kind = self._kind(raw)
        if kind in ("utf-8", "utf-8-sig"):
            return raw.removeprefix(codecs.BOM_UTF8)
        return raw.decode(kind, errors="replace").removeprefix("\ufeff").encode(errors="replace")

    def chunks(self) -> Iterator[bytes]:
        """The bytes as they are; an archive that is cut ends here, with a note."""
        try:
            yield from self._read()
        except _Cut as error:
            if self.strict:
                raise VtuneError(
                    f"{self.path}: damaged or cut ({error})", "copy it again, or import without --strict"
                ) from error
            self._note(f"the file is damaged or cut ({error}): what came before is kept")

    def lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """(number, line without its end, whether the line was ended) of every line, split at ``\\n`` alone."""
        for number, line, ended in self._raw_lines():
            yield number, line.removesuffix(b"\r") if ended else line, ended

    def _raw_lines(self) -> Iterator[tuple[int, bytes, bool]]:
        left: list[bytes] = []  # pieces of a line that is longer than a chunk
        number = 0
        for chunk in self._utf8():
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                number += 1
                yield number, b"".join([*left, line]), True
                left.clear()
            left.append(rest)
        if any(left):
            yield number + 1, b"".join(left), False

    def texts(self) -> Iterator[str]:
        """The same as text, in chunks. Raises VtuneError where it is not UTF-8."""
        decoder, done = codecs.getincrementaldecoder("utf-8")(), 0
        for chunk in self._utf8():
            try:
                yield decoder.decode(chunk)
            except UnicodeDecodeError as error:
                raise self.not_utf8(None, done + error.start) from error
            done += len(chunk)

    def objects(self) -> Iterator[tuple[int, dict[str, Any]] | Skip]:
        """JSON objects: one a line, one array of them, the list under an answer's `data`, or one after another."""
        if self.is_wrapped():
            for item in self.inside({("data",)}.__contains__):
                if isinstance(item, Skip):
                    yield item
                elif item[1] == ("data", "*"):
                    yield self._object(item[0], item[2])
            return
        if not walk.is_lines(self.head()):
            yield from self._documents()
            return
        hook = badline.no_key_twice if self.strict else None
        for number, line, ended in self.lines():
            if not line.strip():
                continue
            try:
                value = json.loads(line, object_pairs_hook=hook)
            except (ValueError, RecursionError) as error:
                if not ended:
                    self._torn(number)
                    return
                if isinstance(error, UnicodeDecodeError) and badline.is_latin1_json(line):
                    raise self.not_utf8(number, error.start) from error
                reason, detail = badline.why(line, error)
                yield Skip(number, reason, detail)
            else:
                yield self._object(number, value)

    def inside(self, opened: Callable[[walk.Path], bool]) -> Iterator[tuple[int, walk.Path, Any] | Skip]:
        """(line, path, value) of what lies in large documents, which are `opened` on the way; ``*`` is any member."""
        try:
            yield from walk.documents(self.texts(), opened, objects=True)
        except walk.Broken as error:
            yield Skip(error.line, "not JSON from here on", str(error))

    def one_a_line(self) -> bool:
        """Whether it has several JSON values, one a line: then a bad one costs its line alone."""
        head = self.head()
        return walk.is_lines(head) and head.strip().count(b"\n") > 0

    def is_wrapped(self) -> bool:
        """Whether its rows are the list under `data`, as the APIs of observability tools answer."""
        return walk.is_wrapped(self.head())

    def table(self) -> Iterator[tuple[int, dict[str, str]] | Skip]:
        """Rows of a CSV file with a header, by name of column."""
        reader = csv.reader(self._csv_lines(), delimiter=delimiter(self.head()))
        names: list[str] | None = None
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Skip(reader.line_num, "not CSV", str(error))
                continue
            if names is None:
                names = [name.strip() for name in row]
                continue
            if not any(cell.strip() for cell in row):
                continue
            if not any(cell.strip() for cell in row[len(names) :]):
                row = row[: len(names)]
            if len(row) != len(names):
                yield Skip(
                    reader.line_num, "not as many columns as the header names", f"{len(row)} columns, not {len(names)}"
                )
                continue
            yield reader.line_num, dict(zip(names, row, strict=True))

    def not_utf8(self, line: int | None, byte: int) -> VtuneError:
        place = f"line {line}, byte {byte}" if line else f"byte {byte}"
        mend = "try --encoding latin-1, or save the file as UTF-8"
        return VtuneError(f"{self.path}: not {self.encoding or 'UTF-8'}: {place}", mend)

    def _documents(self) -> Iterator[tuple[int, dict[str, Any]] | Skip]:
        try:
            for line, _, value in walk.documents(self.texts(), lambda _: False, objects=False):
                yield self._object(line, value)
        except walk.Broken as error:
            yield Skip(error.line, "not JSON from here on", str(error))

    def _object(self, line: int, value: Any) -> tuple[int, dict[str, Any]] | Skip:
        if isinstance(value, dict):
            return line, value
        kind = badline.kind(value)
        return Skip(line, f"{kind}, not an object")

    def _torn(self, number: int) -> None:
        if self.strict:
            raise VtuneError(f"{self.path}:{number}: the last line is cut", "remove it, or import without --strict")
        self._note(f"the last line ({number}) is cut: 1 record dropped")

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _read(self) -> Iterator[bytes]:
        with compressed.open_read(self.path) as file:
            while True:
                try:
                    data = file.read1(_CHUNK)
                except (compressed.BadArchive, EOFError, OSError) as error:
                    raise _Cut(str(error)) from error
                if not data:
                    return
                yield data

    def _kind(self, head: bytes) -> str:
        if self.encoding:
            return codecs.lookup(self.encoding).name
        if marked := next((kind for mark, kind in _MARKS if head.startswith(mark)), None):
            return marked
        # Without a mark, text of two bytes a character begins with every other byte 0.
        nulls = [byte == 0 for byte in head[:4]]
        return {(False, True) * 2: "utf-16-le", (True, False) * 2: "utf-16-be"}.get(tuple(nulls), "utf-8")

    def _utf8(self) -> Iterator[bytes]:
        decoder, first = None, True
        for chunk in self.chunks():
            if first:
                first = False
                kind = self._kind(chunk[:4])
                if kind not in ("utf-8", "utf-8-sig"):
                    decoder = codecs.getincrementaldecoder(kind)()
                else:
                    chunk = chunk.removeprefix(codecs.BOM_UTF8)
            try:
                yield decoder.decode(chunk).encode() if decoder else chunk
            except UnicodeError as error:
                raise VtuneError(f"{self.path}: not {self.encoding or 'UTF-16'}", "name its --encoding") from error

    def _csv_lines(self) -> Iterator[str]:
        for number, line, _ in self._raw_lines():
            try:
                yield line.decode() + "\n"
            except UnicodeDecodeError as error:
                raise self.not_utf8(number, error.start) from error
