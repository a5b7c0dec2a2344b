"""A request's prompt as its parts, in the order in which chat templates print them."""

import json
from dataclasses import dataclass
from typing import Any


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
        texts = (part.get("text") if isinstance(part, dict) else part for part in content)
        content = "\n".join(text for text in texts if isinstance(text, str))
    calls = message.get("tool_calls")
    return (content if isinstance(content, str) else "") + (dumped(calls) if calls else "")


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
