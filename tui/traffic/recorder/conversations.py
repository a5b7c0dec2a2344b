"""Which earlier answer a chat request carries on: its messages begin with that request's and its answer."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

_KEPT = 50_000  # conversations remembered, the least recently carried on forgotten first
_TWINS = 8  # equal conversations remembered each


class Conversations:
    """Remembers digests only. Times are CLOCK_MONOTONIC ns."""

    def __init__(self) -> None:
        self._ended: OrderedDict[bytes, list[tuple[str, int]]] = OrderedDict()

    def followed(self, messages: object, at: int) -> tuple[str, int] | None:
        """(id, end) of the request whose answer these messages carry on; it had ended when they came."""
        for digest in reversed(list(_digests(messages))):
            for id, end in reversed(self._ended.get(digest, ())):
                if end <= at:
                    self._ended.move_to_end(digest)
                    return id, end
        return None

    def ended(self, id: str, messages: object, text: str, tool_calls: str | None, end: int) -> None:
        """Remember a whole answer; `tool_calls` is JSON of [{"name", "arguments"}, ...]."""
        digest = None
        for digest in _digests(messages):
            pass
        if digest is None:
            return
        calls = [[call["name"], call["arguments"]] for call in json.loads(tool_calls or "[]")]
        key = _next(digest, _said(text, calls))
        self._ended.setdefault(key, []).append((id, end))
        self._ended[key] = self._ended[key][-_TWINS:]
        self._ended.move_to_end(key)
        while len(self._ended) > _KEPT:
            self._ended.popitem(last=False)


def _digests(messages: object) -> Iterator[bytes]:
    """A digest after each message, of all up to it."""
    digest = b""
    for message in messages if isinstance(messages, list) else ():
        digest = _next(digest, _canonical(message))
        yield digest


def _next(digest: bytes, message: str) -> bytes:
    return hashlib.blake2b(digest + message.encode(errors="surrogatepass"), digest_size=16).digest()


def _canonical(message: Any) -> str:
    """Equal for what means the same: clients send answers back with fields of their own."""
    if not isinstance(message, dict):
        return json.dumps(message)
    if message.get("role") != "assistant":
        return json.dumps({k: v for k, v in message.items() if v is not None}, sort_keys=True)
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            calls.append([function.get("name") or "", function.get("arguments") or ""])
    return _said(_text(message.get("content")), calls)


def _said(text: str, calls: list[list[Any]]) -> str:
    return json.dumps(["assistant", text.strip(), calls])


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
