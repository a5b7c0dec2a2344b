"""A recorded HTTP call, whatever recorded it."""

import json
from dataclasses import dataclass
from typing import Any

from tui.traffic.importers import check, reply, secrets
from tui.traffic.importers.found import Found, Skip


@dataclass(frozen=True, slots=True)
class Call:
    """Times in seconds; `stamp` is the raw time of the request."""

    method: str
    url: str
    headers: Any
    sent: str | None
    stamp: Any
    status: int | None = None
    answer: str | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None


def request(line: int, call: Call) -> Found | Skip:
    """Host, query and headers stay behind."""
    held = secrets.of_headers(call.headers, call.url)
    if call.method.upper() == "OPTIONS":
        return Skip(line, "a CORS preflight")
    if call.method.upper() != "POST":
        return Skip(line, f"not a POST: {call.method[:10].upper()}")
    path = check.path_of(call.url)
    if path is None:
        place = call.url.split("?", 1)[0][-60:]
        return Skip(line, "not a chat or completion call", f"not a chat or completion call: {place}")
    if not call.sent:
        return Skip(line, "the request's body was not recorded")
    try:
        body = json.loads(call.sent)
    except (ValueError, RecursionError):
        return Skip(line, "the request's body is not JSON")
    if not isinstance(body, dict):
        return Skip(line, "the request's body is no object")
    clean, redacted, own = secrets.clean(body)
    answer, words = reply.of_body(call.answer, call.status or None, call.ttft_s, call.e2e_s)
    failed = call.status is not None and (call.status == 0 or call.status >= 400)
    return Found(
        line, path, clean, call.stamp, reply=answer, answer=words, redacted=redacted, credentials=held | own,
        failed=failed, output_tokens=reply.completion_tokens(answer),
    )  # fmt: skip
