"""The journal: one JSON object a line, appended and flushed as things happen.

A journal that was cut at any byte still opens: a line without its newline, or one that is no
JSON object, ends the reading there. A writer holds a lock on the file until it closes; the
first line says the version.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui.errors import VtuneError

SCHEMA = "vtune.journal/1"
NAME = "journal.jsonl"

Event = dict[str, Any]


class Journal:
    """The writing end. Raises VtuneError when the folder holds a session, another vtune writes one there, or the disk
    is full already."""

    def __init__(self, folder: Path, header: Event) -> None:
        self.path = folder / NAME
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise VtuneError(
                f"session {folder} is being written by another vtune", "end that one, or choose another --session"
            ) from None
        self.fault: str | None = None
        if os.fstat(self._fd).st_size:
            os.close(self._fd)
            raise VtuneError(f"{folder} holds a session already", "name another folder; `vtune report` reads that one")
        self.header = self._write({"schema": SCHEMA, **header})
        if self.fault is not None:
            self.close()
            what = f"{self.path} can't be written: {self.fault}"
            raise VtuneError(what, "free space there, or choose another --session")

    def append(self, kind: str, **values: Any) -> Event:
        """Write the event and return it as a reader of the file will see it."""
        return self._write({"e": kind, "t": round(time.time(), 3), **values})

    def _write(self, event: Event) -> Event:
        line = json.dumps(event, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        data = line.encode("utf-8", "surrogatepass") + b"\n"
        if self.fault is None:
            try:
                # One write a line: a crash can cut the last line, never mix two.
                written = os.write(self._fd, data)
                if written != len(data):
                    raise OSError(28, "No space left on device")
            except OSError as error:
                # A full disk stops the journal, not the session; the session tells it once.
                self.fault = error.strerror or str(error)
        return json.loads(line)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read(folder: Path) -> tuple[Event, Iterator[Event]]:
    """The header and the events of a session folder.

    Raises VtuneError when there is no journal, its first line is no header, or it is of a newer version.
    """
    path = folder / NAME
    if not path.is_file():
        raise VtuneError(f"no session in {folder}", "give a session folder, or `last`; `vtune sessions` lists them")
    events = _events(path)
    header = next(events, None)
    if header is None or not str(header.get("schema", "")).startswith("vtune.journal/"):
        raise VtuneError(f"{path} does not begin with a journal header", "the file is damaged from its first line on")
    if header["schema"] != SCHEMA:
        raise VtuneError(f"{path} is {header['schema']}, this vtune reads {SCHEMA}", "open it with a newer vtune")
    return header, events


def _events(path: Path) -> Iterator[Event]:
    with path.open("rb") as file:
        for line in file:
            event = parsed(line)
            if event is None:
                return
            yield event


def parsed(line: bytes) -> Event | None:
    """The event of a whole line with its newline; None where the journal was cut, or is damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        event = json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def is_written(folder: Path) -> bool:
    """Whether another vtune writes the journal in `folder` now: a writer holds its lock until it closes."""
    try:
        fd = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
