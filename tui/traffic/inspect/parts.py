"""A request's prompt as its parts, in the order in which chat templates print them."""

import json
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

MEDIA = re.compile(r"\[\w+ [0-9a-f]{16}\]")


@dataclass(frozen=True, slots=True)
class Part:
    """`kind` is tools, template, message or prompt; `index` is the message's, from 0."""

    kind: str
    index: int
    role: str
    text: str


def parts(body: dict[str, Any]) -> list[Part]:
    """Tools come before the messages, as most templates have them; token ids have no text and no part."""
    found = []
    options = {key: body[key] for key in ("chat_template", "chat_template_kwargs", "documents") if body.get(key)}
    if options:
        found.append(Part("template", 0, "template", dumped(options)))
    if body.get("tools"):
        found.append(Part("tools", 0, "tools", dumped(body["tools"])))
    messages = body.get("messages")
    if isinstance(messages, list):
        for index, message in enumerate(messages):
            if isinstance(message, dict):
                found.append(Part("message", index, str(message.get("role")), text_of(message)))
    elif isinstance(prompt := body.get("prompt"), str):
        found.append(Part("prompt", 0, "prompt", prompt))
    return found


def text_of(message: dict[str, Any]) -> str:
    """The text of a message; its text parts are joined by line ends, as vLLM does it for most templates."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(_text(part) for part in content)
    calls = message.get("tool_calls")
    return (content if isinstance(content, str) else "") + (dumped(calls) if calls else "")


def _text(part: Any) -> str:
    """Of an image and its kind, a mark that is the same for the same one: the engine tells its blocks apart by it."""
    text = part.get("text") if isinstance(part, dict) else part
    if isinstance(text, str):
        return text
    kind = str(part.get("type")) if isinstance(part, dict) else "part"
    return f"[{kind} {blake2b(dumped(part).encode(errors='replace'), digest_size=8).hexdigest()}]"


def is_media(part: Any) -> bool:
    return isinstance(part, dict) and not isinstance(part.get("text"), str)


def has_media(body: dict[str, Any]) -> bool:
    """Whether a message has an image or its kind."""
    messages = body.get("messages")
    contents = [m.get("content") for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return any(is_media(part) for content in contents if isinstance(content, list) for part in content)


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
