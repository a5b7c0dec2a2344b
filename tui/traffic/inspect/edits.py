"""Changed copies of requests: the recording itself is never touched."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tui.traffic.recording import Request

Change = Callable[[str], str]


def body(request: Request, **keys: Any) -> Request:
    return replace(request, body={**request.body, **keys})


def without(request: Request, key: str) -> Request:
    return replace(request, body={name: value for name, value in request.body.items() if name != key})


def text(request: Request, kind: str, index: int, role: str, change: Change) -> Request:
    """With one part's text changed; the same object where nothing changes, or where there is no such part."""
    if kind == "prompt":
        was = request.body.get("prompt")
        return request if not isinstance(was, str) or (new := change(was)) == was else body(request, prompt=new)
    messages = request.body.get("messages")
    if kind != "message" or not isinstance(messages, list) or index >= len(messages):
        return request
    message = messages[index]
    if not isinstance(message, dict) or str(message.get("role")) != role:
        return request
    new_message = _message(message, change)
    if new_message == message:
        return request
    return body(request, messages=[*messages[:index], new_message, *messages[index + 1 :]])


def append(request: Request, added: str) -> Request:
    """With text behind everything that is there: at the end of the last user message, or of the prompt."""
    prompt, messages = request.body.get("prompt"), request.body.get("messages")
    if isinstance(prompt, str):
        return body(request, prompt=f"{prompt}\n\n{added}")
    if not isinstance(messages, list) or not messages:
        return request
    users = [n for n, message in enumerate(messages) if isinstance(message, dict) and message.get("role") == "user"]
    index = users[-1] if users else len(messages) - 1
    message = messages[index]
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        content = f"{content}\n\n{added}"
    elif isinstance(content, list):
        content = [*content, {"type": "text", "text": added}]
    else:
        return request
    return body(request, messages=[*messages[:index], {**message, "content": content}, *messages[index + 1 :]])


def _message(message: dict[str, Any], change: Change) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": change(content)}
    if isinstance(content, list):
        return {**message, "content": [_part(part, change) for part in content]}
    return message


def _part(part: Any, change: Change) -> Any:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {**part, "text": change(part["text"])}
    return part
