"""The recording while it grows: one write a request, so that a crash can cut the last line and nothing else."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic import recording, whole_file
from tui.traffic.recording import Request

_PAUSE_S = 1.0  # between the end of what was there and what is recorded after it


class RecordFile:
    """0600. `fault` says what the disk said when it took no more; nothing is written after that.

    With `append` an existing recording goes on: a line that was cut is removed, and new times begin a second after
    its last end. With `force` an existing file is replaced by the first request, not before. Otherwise it is refused.
    Raises VtuneError. `write` is os.write, given in tests.
    """

    def __init__(
        self, path: Path, header: dict[str, Any], *, append: bool = False, force: bool = False,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:  # fmt: skip
        self.path = path
        self.fault: str | None = None
        self.healed: str | None = None
        self.places: list[tuple[float, int, int]] = []  # at, offset, length of every request
        self.offset_s = 0.0
        self._write, self._ids, self._number = write, set[str](), 0
        self._hidden: Path | None = None
        continued = append and path.exists() and path.stat().st_size > 0
        if not continued and not append:
            whole_file.refuse(path, force)
        self._fd = self._open(continued or append, force and path.exists())
        self._size = 0
        if continued:
            self._continue()
        else:
            self._put(json.dumps({"schema": recording.SCHEMA, **header}, ensure_ascii=False).encode() + b"\n")
            if self.fault:
                self.close()
                raise VtuneError(f"can't write {path}: {self.fault}", "make room, or name a file elsewhere")

    def next_id(self) -> str:
        """An id that no request of the file has."""
        self._number += 1
        while (id := f"r{self._number:05d}") in self._ids:
            self._number += 1
        return id

    def add(self, request: Request) -> bool:
        """Append; False when the disk does not take it (any more)."""
        line = json.dumps(request.to_json(), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        start = self._size
        if self.fault is not None or not self._put(line):
            return False
        if self._hidden is not None:
            os.replace(self._hidden, self.path)
            self._hidden = None
        self._ids.add(request.id)
        self.places.append((request.at, start, len(line)))
        return True

    def read(self, place: tuple[float, int, int]) -> bytes:
        """The line of a request."""
        return os.pread(self._fd, place[2], place[1])

    def first_line(self) -> bytes:
        return os.pread(self._fd, min((offset for _, offset, _ in self.places), default=self._size), 0)

    def close(self) -> None:
        """A file that got no request is removed: it would be no recording."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        if not self.places:
            (self._hidden or self.path).unlink(missing_ok=True)

    def _open(self, existing: bool, replacing: bool) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_CREAT | (0 if existing else os.O_EXCL)
        target = self.path
        if replacing:
            target = self._hidden = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            fd = os.open(target, flags, 0o600)
        except OSError as error:
            raise VtuneError(
                f"can't write {self.path}: {error.strerror}", "name a file in a folder you may write to"
            ) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(fd, 0o600)
        except OSError as error:
            os.close(fd)
            raise VtuneError(
                f"{self.path} is being recorded by another vtune", "end that one, or choose another name"
            ) from error
        return fd

    def _put(self, data: bytes) -> bool:
        try:
            if self._write(self._fd, data) != len(data):
                raise OSError(28, "No space left on device")
        except OSError as error:
            self.fault = error.strerror or str(error)
            try:  # what went in of it would be a torn line
                os.ftruncate(self._fd, self._size)
            except OSError:
                pass
            return False
        self._size += len(data)
        return True

    def _continue(self) -> None:
        try:
            self._heal()
            self._index()
        except BaseException:
            os.close(self._fd)
            self._fd = -1
            raise

    def _heal(self) -> None:
        """The last line may have been cut by a crash; a whole one may only lack its newline."""
        with open(self.path, "rb") as file:
            if not file.peek(1).startswith(b"{"):
                raise VtuneError(f"{self.path} is no plain recording", "unpack it first, or choose another name")
            start, last = 0, b""
            for line in file:
                start, last = start + len(last), line
        self._size = start + len(last)
        if last.endswith(b"\n"):
            return
        try:
            whole = isinstance(json.loads(last), dict)
        except ValueError:
            whole = False
        if whole:
            self._put(b"\n")
        else:
            os.ftruncate(self._fd, start)
            self._size = start
            self.healed = f"the last line had been cut ({len(last)} bytes): removed"

    def _index(self) -> None:
        with open(self.path, "rb") as file:
            only_header = file.readline() and not file.readline()
        if only_header:
            _check_header(self.path)
            return
        ends = [0.0]
        for request in recording.load(self.path).requests:
            self._ids.add(request.id)
            ends.append(request.at + float((request.reply or {}).get("e2e_s") or 0.0))
        self.offset_s = max(ends) + _PAUSE_S
        offset = 0
        with open(self.path, "rb") as file:
            for number, line in enumerate(file):
                if number and line.strip():
                    self.places.append((float(json.loads(line)["at"]), offset, len(line)))
                offset += len(line)


def _check_header(path: Path) -> None:
    header = json.loads(path.read_bytes() or b"{}")
    if header.get("schema") != recording.SCHEMA:
        raise VtuneError(f"{path} is no recording", "choose another name, or --force to replace it")
