"""mitmproxy's flow files."""

import gzip
import zlib
from typing import Any

from tui.traffic.importers import tnetstring
from tui.traffic.importers.call import Call, request
from tui.traffic.importers.format import Format, Rows
from tui.traffic.importers.found import Found, Skip
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source


def rows(source: Source) -> Rows:
    """The number of a flow stands for its line."""
    number = 0
    try:
        for number, flow in enumerate(tnetstring.stream(source.chunks()), 1):
            yield _flow(number, flow)
    except tnetstring.BadNetstring as error:
        yield Skip(number + 1, "not a flow from here on", str(error))


def _flow(number: int, flow: Any) -> Found | Skip:
    sent = flow.get("request") if isinstance(flow, dict) else None
    if not isinstance(sent, dict):
        kind = str(flow.get("type")) if isinstance(flow, dict) else "unknown"
        return Skip(number, f"a flow without an HTTP request: {kind[:20]}")
    got = flow.get("response") if isinstance(flow.get("response"), dict) else {}
    begin, status = sent.get("timestamp_start"), got.get("status_code")
    url = f"http://host{_text(sent.get('path')) or ''}"
    headers = [(_text(pair[0]) or "", _text(pair[1]) or "") for pair in sent.get("headers") or () if len(pair) == 2]
    return request(
        number,
        Call(
            _text(sent.get("method")) or "", url, headers, _body(sent), begin,
            status if isinstance(status, int) else None, _body(got),
            _since(begin, got.get("timestamp_start")), _since(begin, got.get("timestamp_end")),
        ),
    )  # fmt: skip


def _body(message: dict[str, Any]) -> str | None:
    content = message.get("content")
    if not isinstance(content, bytes):
        return None
    pairs = [pair for pair in message.get("headers") or () if len(pair) == 2]
    coding = next((_text(value) for name, value in pairs if (_text(name) or "").lower() == "content-encoding"), None)
    try:
        if coding == "gzip":
            content = gzip.decompress(content)
        elif coding == "deflate":
            content = zlib.decompress(content)
        return content.decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None


def _since(begin: Any, end: Any) -> float | None:
    return end - begin if isinstance(begin, (int, float)) and isinstance(end, (int, float)) else None


def _text(value: Any) -> str | None:
    return value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else None


def _matches(found: Sniffed) -> str | None:
    size, colon, rest = found.head[:20].partition(b":")
    if colon and size.isdigit() and rest[:1].isdigit() and b":" in rest:
        return "typed netstrings"
    return None


MITMPROXY = Format("mitmproxy", "mitmproxy flows", _matches, rows, "s", links_by_answer=True)
