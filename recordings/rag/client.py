"""One streamed chat request to an OpenAI-compatible server, and what came back."""

import hashlib
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

PATH = "/v1/chat/completions"


class RequestFailed(Exception):
    """The server refused the request or broke off; `status` is None where no answer came."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """A complete answer. Seconds run from the moment the request was sent."""

    text: str
    status: int
    ttft_s: float | None  # to the first non-empty content; None for an empty answer
    e2e_s: float
    usage: dict[str, Any] | None
    extra: dict[str, Any]  # other top-level keys of the last chunks, such as vLLM's `metrics`

    def reply(self) -> dict[str, Any]:
        """The `reply` of a recorded request."""
        reply: dict[str, Any] = {"status": self.status, "e2e_s": round(self.e2e_s, 4)}
        if self.ttft_s is not None:
            reply["ttft_s"] = round(self.ttft_s, 4)
        if self.usage is not None:
            reply["usage"] = self.usage
        reply["text_sha256"] = hashlib.sha256(self.text.encode()).hexdigest()
        return reply


def chat(url: str, body: dict[str, Any], key: str | None, on_text: Callable[[str], None]) -> Answer:
    """Send `body` to the server at `url` and call `on_text` with each piece of the answer.

    Raises RequestFailed on a refused connection, an HTTP error, or a stream with an error or without its end.
    """
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    base = url.rstrip("/").removesuffix("/v1")
    request = urllib.request.Request(base + PATH, json.dumps(body).encode(), headers)
    sent = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=600) as response:
            return _read(response.status, _events(response), sent, on_text)
    except urllib.error.HTTPError as error:
        raise RequestFailed(f"HTTP {error.code}: {error.read(500).decode(errors='replace')}", error.code) from None
    except (OSError, ValueError, http.client.HTTPException) as error:  # URLError is an OSError
        raise RequestFailed(str(error)) from None


def _events(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a server-sent event stream; comments and blank lines are skipped.

    The lines end with LF only. Splitting text with `splitlines` would also break at U+2028
    and U+0085, which may stand inside an answer.
    """
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        yield json.loads(data)
    raise RequestFailed("the stream broke off before its end")


def _read(status: int, events: Iterator[dict[str, Any]], sent: float, on_text: Callable[[str], None]) -> Answer:
    pieces: list[str] = []
    first: float | None = None
    last = sent
    usage: dict[str, Any] | None = None
    extra: dict[str, Any] = {}
    for event in events:
        if "error" in event:
            raise RequestFailed(str(event["error"]), status)
        usage = event.get("usage") or usage
        extra |= {k: v for k, v in event.items() if k not in ("id", "object", "created", "model", "choices", "usage")}
        # A chunk with usage has no choices, and vLLM's first chunk has a role and empty content.
        text = "".join(choice["delta"].get("content") or "" for choice in event.get("choices", ()))
        if text:
            last = time.monotonic()
            first = first or last
            pieces.append(text)
            on_text(text)
    return Answer("".join(pieces), status, first and first - sent, last - sent, usage, extra)
