"""The recorded answer of a request: its figures, and its text as a hash."""

import json
from hashlib import sha256
from typing import Any

from tui.traffic.importers.found import usage, whole


def made(
    status: int | None, *, text: str | None = None, counts: dict[str, Any] | None = None,
    ttft_s: float | None = None, e2e_s: float | None = None,
) -> dict[str, Any] | None:  # fmt: skip
    """The recording's `reply`, with what is known; None if nothing is."""
    found: dict[str, Any] = {
        "status": status, "ttft_s": _seconds(ttft_s), "e2e_s": _seconds(e2e_s), "usage": counts or None,
        "text_sha256": sha256(text.encode(errors="surrogatepass")).hexdigest() if text is not None else None,
    }  # fmt: skip
    return {key: value for key, value in found.items() if value is not None} or None


def completion_tokens(reply: dict[str, Any] | None) -> int | None:
    return whole(((reply or {}).get("usage") or {}).get("completion_tokens"))


def of_object(
    answer: Any, status: int | None = None, ttft_s: float | None = None, e2e_s: float | None = None
) -> tuple[dict[str, Any] | None, str | None]:
    """(reply, text) of an OpenAI answer that was not streamed."""
    if not isinstance(answer, dict):
        return made(status, ttft_s=ttft_s, e2e_s=e2e_s), None
    text = _text(answer)
    counts = answer.get("usage")
    known = usage(counts.get("prompt_tokens"), counts.get("completion_tokens")) if isinstance(counts, dict) else None
    return made(status, text=text, counts=known, ttft_s=ttft_s, e2e_s=e2e_s), text


def of_body(
    body: str | None, status: int | None = None, ttft_s: float | None = None, e2e_s: float | None = None
) -> tuple[dict[str, Any] | None, str | None]:
    """(reply, text) of a recorded response, streamed or not; an unreadable one has no text."""
    if not body:
        return made(status, ttft_s=ttft_s, e2e_s=e2e_s), None
    if body.lstrip().startswith("{"):
        try:
            return of_object(json.loads(body), status, ttft_s, e2e_s)
        except (ValueError, RecursionError):
            return made(status, ttft_s=ttft_s, e2e_s=e2e_s), None
    text, counts = _stream(body)
    return made(status, text=text, counts=counts, ttft_s=ttft_s, e2e_s=e2e_s), text


def _stream(body: str) -> tuple[str | None, dict[str, Any] | None]:
    """Text and usage of a server-sent event stream. Chunks are not counted as tokens: one may hold several."""
    parts: list[str] = []
    counts = None
    for line in body.split("\n"):
        if not line.startswith("data:"):
            continue
        try:
            event = json.loads(line[5:])
        except (ValueError, RecursionError):
            continue
        if not isinstance(event, dict):
            continue
        parts.append(_text(event) or "")
        if isinstance(event.get("usage"), dict):
            counts = usage(event["usage"].get("prompt_tokens"), event["usage"].get("completion_tokens"))
    return ("".join(parts) if parts else None), counts


def _text(answer: dict[str, Any]) -> str | None:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    message = choice.get("message") or choice.get("delta")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    return text if isinstance(text, str) else None


def _seconds(value: float | None) -> float | None:
    return round(value, 6) if value is not None and value >= 0 else None
