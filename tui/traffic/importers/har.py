"""HAR 1.2, as browsers and proxies write it."""

import base64
import binascii
from typing import Any

from tui.traffic.importers.call import Call, request
from tui.traffic.importers.format import Format, Rows
from tui.traffic.importers.found import Skip, whole
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source


def rows(source: Source) -> Rows:
    for item in source.inside({("log",), ("log", "entries")}.__contains__):
        if isinstance(item, Skip):
            yield item
            continue
        line, path, entry = item
        if path == ("log", "entries", "*"):
            yield _entry(line, entry)


def _entry(line: int, entry: Any):  # noqa: ANN202 - Found or Skip
    sent = entry.get("request") if isinstance(entry, dict) else None
    if not isinstance(sent, dict):
        return Skip(line, "an entry without a request")
    got = entry.get("response") if isinstance(entry.get("response"), dict) else {}
    timings = entry.get("timings") if isinstance(entry.get("timings"), dict) else {}
    posted = sent.get("postData")
    return request(
        line,
        Call(
            str(sent.get("method", "")), str(sent.get("url", "")), sent.get("headers"),
            _content(posted) if isinstance(posted, dict) else None, entry.get("startedDateTime"),
            whole(got.get("status")), _content(got.get("content")),
            _first_byte(timings),
            _ms(entry.get("time")),
        ),
    )  # fmt: skip


def _content(part: Any) -> str | None:
    """The text of a body, or of an answer; base64 is undone."""
    text = part.get("text") if isinstance(part, dict) else None
    if not isinstance(text, str):
        return None
    if part.get("encoding") == "base64":
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, ValueError):
            return None
    return text


def _first_byte(timings: dict[str, Any]) -> float | None:
    """Seconds until the answer began; None where the wait for it was not timed."""
    if _ms(timings.get("wait")) is None:
        return None
    return _ms(*(timings.get(part) for part in ("blocked", "dns", "connect", "send", "wait")))


def _ms(*parts: Any) -> float | None:
    """Seconds; -1 means "does not apply"."""
    known = [p for p in parts if isinstance(p, (int, float)) and not isinstance(p, bool) and p >= 0]
    return sum(known) / 1000 if known else None


def _matches(found: Sniffed) -> str | None:
    whole_file = [row for row in found.objects if "log" in row]
    sound = any(isinstance(row["log"], dict) and "entries" in row["log"] for row in whole_file)
    return "an object with log" if sound or (not found.objects and "log" in found.keys) else None


HAR = Format("har", "HTTP archive", _matches, rows, links_by_answer=True)
