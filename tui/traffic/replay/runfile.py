"""The run's file: a header, one Outcome a line as each request ends, and an end line."""

import json
import os
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic.outcome import SCHEMA, Outcome

_JSON = json.JSONEncoder(separators=(",", ":"))


class RunFile:
    """Append-only, 0600 (it may hold prompts' answers); one write a line, so that a crash costs at most one line."""

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            raise VtuneError(f"{path} exists", "a run never writes over another; give it a new name") from error
        except OSError as error:
            raise VtuneError(f"{path}: {error.strerror}", "check the folder and its permissions") from error

    def header(self, fields: dict[str, Any]) -> None:
        self._line({"schema": SCHEMA, **fields})

    def outcome(self, outcome: Outcome) -> None:
        self._line(outcome.to_json())

    def end(self, fields: dict[str, Any]) -> None:
        self._line({"end": fields})

    def close(self) -> None:
        os.close(self._fd)

    def _line(self, row: dict[str, Any]) -> None:
        data = _JSON.encode(row).encode() + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]


def read_outcomes(path: Path) -> tuple[dict[str, Any], list[Outcome], dict[str, Any] | None]:
    """(header, outcomes, end): `end` is None when the run did not end by itself; a torn last line is left out.

    Raises VtuneError for a file that is not a run's, or one of a newer version.
    """
    header: dict[str, Any] | None = None
    outcomes, end = [], None
    try:
        with path.open("rb") as file:  # a line at a time: a long run's file is larger than what is kept of it
            for line in file:
                if (row := _row(line)) is None:
                    continue
                if header is None:
                    header = row
                    if header.get("schema") != SCHEMA:
                        break
                elif isinstance(row.get("end"), dict):
                    end = row["end"]
                elif {"id", "status", "due_s"} <= row.keys():
                    outcomes.append(Outcome.from_json({"group": None, **row}))
    except OSError as error:
        raise VtuneError(f"{path}: {error.strerror}", "check the path of the run's file") from error
    if header is None or header.get("schema") != SCHEMA:
        told = (header or {}).get("schema")
        raise VtuneError(f"{path}: not a run's file ({told!r})", f"this vtune reads {SCHEMA}")
    return header, outcomes, end


def read_end(path: Path) -> dict[str, Any] | None:
    """The end line alone, without reading what comes before it; None when the run did not end by itself."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
        *_, last, rest = [b"", *file.read().split(b"\n")]
    row = _row(last) if not rest else None
    return row["end"] if row and isinstance(row.get("end"), dict) else None


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
