"""Messages of observability exports, turned into OpenAI's: parts, JSON in text, tool calls, LangChain's names."""

import json
from typing import Any

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}


def unpacked(value: Any, depth: int = 3) -> Any:
    """A value that may be JSON as text, even in text once more; plain text stays as it is."""
    while depth and isinstance(value, str) and value[:1] in '[{"':
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
        depth -= 1
    return value


def messages(value: Any) -> list[dict[str, Any]] | None:
    """OpenAI messages of `value` (a list of them, an object that holds one, or a text); None if it is none."""
    value = unpacked(value)
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value else None
    if isinstance(value, dict):
        inner = value.get("messages", value if "role" in value or "content" in value else None)
        value = [inner] if isinstance(inner, dict) else inner
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # LangChain's batch of one
    if not isinstance(value, list) or not value:
        return None
    found: list[dict[str, Any]] = []
    for item in value:
        if not isinstance(item, dict):
            return None
        one = _message(item)
        if one is None:
            return None
        found += one
    return found


def answer(value: Any) -> str | None:
    """The text of a recorded output, in any of the forms that messages come in."""
    value = unpacked(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return answer(value[-1]) if value else None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("parts"), list):
        return _joined(value["parts"])
    for key in ("content", "message", "text", "completion"):
        if (found := value.get(key)) is not None:
            return answer(found) if not isinstance(found, list) else _joined(found)
    choices = value.get("choices")
    return answer(choices[0]) if isinstance(choices, list) and choices else None


def _message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    role = item.get("role", item.get("type"))
    if not isinstance(role, str):
        return None
    role = _ROLES.get(role, role)
    if isinstance(item.get("parts"), list):
        return _from_parts(role, item["parts"])
    kept = {
        key: item[key]
        for key in ("content", "name", "tool_calls", "tool_call_id", "function_call", "refusal")
        if key in item
    }
    return [{"role": role, **kept}]


def _from_parts(role: str, parts: list[Any]) -> list[dict[str, Any]]:
    """One message, and one more for each tool's answer."""
    calls, results, content = [], [], []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "tool_call":
            arguments = part.get("arguments")
            calls.append({"id": str(part.get("id") or ""), "type": "function", "function": {
                "name": str(part.get("name") or ""),
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments or {})}})  # fmt: skip
        elif kind == "tool_call_response":
            result = part.get("response", part.get("result"))
            results.append({"role": "tool", "tool_call_id": str(part.get("id") or ""),
                            "content": result if isinstance(result, str) else json.dumps(result)})  # fmt: skip
        elif kind == "text":
            content.append({"type": "text", "text": str(part.get("content", part.get("text", "")))})
        elif kind != "reasoning":
            content.append({"type": str(kind or "unknown")})
    if results:
        return results
    plain = content[0]["text"] if len(content) == 1 and "text" in content[0] else content
    message: dict[str, Any] = {"role": role, "content": plain if content else None}
    if calls:
        message["tool_calls"] = calls
    return [message]


def _joined(parts: list[Any]) -> str | None:
    texts = [p.get("content", p.get("text")) for p in parts if isinstance(p, dict) and p.get("type", "text") == "text"]
    texts = [t for t in texts if isinstance(t, str)]
    return "".join(texts) if texts else None
