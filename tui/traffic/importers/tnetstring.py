"""Typed netstrings, the container of mitmproxy's flows: ``LENGTH:PAYLOAD`` and a byte for the type.

``,`` bytes, ``;`` text, ``#`` integer, ``^`` float, ``!`` true or false, ``~`` null, ``]`` list, ``}`` dictionary.
"""

from collections.abc import Iterable, Iterator
from typing import Any

LONGEST = 1 << 30
_DEPTH = 40


class BadNetstring(ValueError):
    """Bytes that are no typed netstring."""


def stream(chunks: Iterable[bytes]) -> Iterator[Any]:
    """One value after another. Raises BadNetstring where one is damaged or cut."""
    pieces, buffer = iter(chunks), bytearray()
    while True:
        while b":" not in buffer[:12] and len(buffer) < 12:
            piece = next(pieces, None)
            if piece is None:
                break
            buffer += piece
        if not bytes(buffer).strip():
            return
        head, colon, _ = bytes(buffer[:12]).partition(b":")
        size = _length(head) if colon else None
        if size is None:
            raise BadNetstring("no length before a colon")
        end = len(head) + 1 + size + 1
        while len(buffer) < end:
            piece = next(pieces, None)
            if piece is None:
                raise BadNetstring("the last flow is cut")
            buffer += piece
        yield _value(memoryview(bytes(buffer[len(head) + 1 : end])), 0)
        del buffer[:end]


def _value(item: memoryview, depth: int) -> Any:
    """`item` is a payload and its type byte."""
    payload, kind = item[:-1], item[-1:].tobytes()
    if depth > _DEPTH:
        raise BadNetstring("nested too deeply")
    try:
        if kind == b",":
            return payload.tobytes()
        if kind == b";":
            return payload.tobytes().decode()
        if kind == b"#":
            return int(payload.tobytes())
        if kind == b"^":
            return float(payload.tobytes())
    except ValueError as error:
        raise BadNetstring(str(error)) from error
    if kind == b"!":
        return payload.tobytes() == b"true"
    if kind == b"~":
        return None
    items = list(_items(payload, depth)) if kind in b"]}" and kind else None
    if items is None or (kind == b"}" and len(items) % 2):
        raise BadNetstring(f"type {kind!r}")
    return items if kind == b"]" else {_key(k): v for k, v in zip(items[::2], items[1::2], strict=True)}


def _items(payload: memoryview, depth: int) -> Iterator[Any]:
    at = 0
    while at < len(payload):
        head, colon, _ = payload[at : at + 12].tobytes().partition(b":")
        size = _length(head) if colon else None
        start = at + len(head) + 1
        if size is None or start + size + 1 > len(payload):
            raise BadNetstring("an item that is longer than what holds it")
        yield _value(payload[start : start + size + 1], depth + 1)
        at = start + size + 1


def _length(digits: bytes) -> int | None:
    return int(digits) if digits.isdigit() and int(digits) <= LONGEST else None


def _key(key: Any) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)
