"""A file that is written in pieces and still appears whole or not at all, 0600, compressed as its suffix asks."""

import gzip
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tui.errors import VtuneError
from tui.traffic import compressed


def refuse(path: Path, force: bool, source: Path | None = None) -> None:
    """Raises VtuneError where `path` can't be written; before anything long is done for it. `source`, the file that is
    read for it, is never replaced."""
    if source is not None and path.exists() and path.resolve() == source.resolve():
        raise VtuneError(f"{path} is the file that is read", "name another one to write")
    if path.is_dir():
        raise VtuneError(f"{path} is a folder", "name a file")
    if path.exists() and not force:
        raise VtuneError(f"{path} exists", "choose another name, or --force to replace it")
    if not path.resolve().parent.is_dir():
        raise VtuneError(f"there is no folder {path.resolve().parent}", "make it first, or name another file")


class WholeFile:
    """``with WholeFile(path) as file: file.write(text)``; left by an error, nothing is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        handle, self._name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        self._raw = os.fdopen(handle, "wb", buffering=1 << 18)
        self._file: IO[bytes] | Any = self._raw
        if path.name.endswith(".gz"):
            self._file = gzip.GzipFile("", "wb", fileobj=self._raw, mtime=0)
        elif path.name.endswith(".zst"):
            self._file = compressed.zstd_writer(path, self._raw)

    def __enter__(self) -> "WholeFile":
        return self

    def write(self, text: str) -> None:
        self._file.write(text.encode())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._file is not self._raw:
                self._file.close()
            self._raw.close()
            if kind is None:
                os.chmod(self._name, 0o600)
                os.replace(self._name, self.path)
                self._name = ""
        finally:
            if self._name:
                Path(self._name).unlink(missing_ok=True)
