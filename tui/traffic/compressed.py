"""Recordings on disk may be plain, gzip or Zstandard; the bytes decide when reading, the suffix when writing."""

import gzip
import io
import sys
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

from tui.errors import VtuneError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


class BadArchive(Exception):
    """A compressed file that is damaged or cut."""


def _zstd(path: Path) -> ModuleType:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd
    try:
        import zstandard
    except ImportError:
        mend = f"pip install zstandard, or unpack it first: zstd -d {path}"
        raise VtuneError(f"{path}: reading .zst needs a library on this Python", mend) from None
    return zstandard


class _Guarded(io.RawIOBase):
    """Turns each library's own error for a damaged archive into BadArchive."""

    def __init__(self, inner: Any, errors: tuple[type[BaseException], ...]) -> None:
        self._inner, self._errors = inner, errors

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            # Not `read`: where an archive is cut, that would lose what came before.
            data = self._inner.read1(len(buffer))
        except self._errors as error:
            raise BadArchive(str(error)) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


def open_read(path: Path) -> io.BufferedReader:
    """Open for reading as uncompressed bytes; raises VtuneError where it can't, BadArchive while reading."""
    try:
        file = path.open("rb")
    except OSError as error:
        folder = isinstance(error, IsADirectoryError)
        mend = "give one of the files in it" if folder else "check the path and its permissions"
        raise VtuneError(f"{path}: {error.strerror}", mend) from error
    magic = file.peek(4)[:4]
    if magic.startswith(_GZIP):
        inner: Any = _Guarded(gzip.GzipFile(fileobj=file), (EOFError, OSError, zlib.error))
        return io.BufferedReader(inner, 1 << 18)
    if magic == _ZSTD:
        return io.BufferedReader(_open_zstd(path, file), 1 << 18)
    return file


def _open_zstd(path: Path, file: io.BufferedReader) -> io.RawIOBase:
    library = _zstd(path)
    if sys.version_info >= (3, 14):
        return _Guarded(library.ZstdFile(file), (EOFError, OSError, library.ZstdError))
    reader = library.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return _Guarded(reader, (OSError, library.ZstdError))


def pack(path: Path, data: bytes) -> bytes:
    """Compress `data` as the suffix of `path` asks."""
    if path.name.endswith(".gz"):
        return gzip.compress(data, mtime=0)  # without a time stamp equal content gives an equal file
    if path.name.endswith(".zst"):
        library = _zstd(path)
        if sys.version_info >= (3, 14):
            return bytes(library.compress(data))
        return bytes(library.ZstdCompressor().compress(data))
    return data


def zstd_writer(path: Path, file: Any) -> Any:
    """Something with `write` and `close` that compresses into `file`, which stays open."""
    library = _zstd(path)
    if sys.version_info >= (3, 14):
        return library.ZstdFile(file, "wb")
    return library.ZstdCompressor().stream_writer(file, closefd=False)
