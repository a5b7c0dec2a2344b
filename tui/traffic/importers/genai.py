"""The prompt and the answer of a span, in whichever convention its instrumentation wrote them.

OpenTelemetry's own (messages in an attribute, or one event a message), Traceloop's (numbered attributes),
OpenInference's (numbered or nested, under `llm`), the Vercel AI SDK's and pydantic-ai's.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from tui.traffic.importers import chat_parts

_PROMPTS = ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "ai.prompt.messages", "llm.prompts")
_ANSWERS = ("gen_ai.output.messages", "gen_ai.output.text", "gen_ai.completion", "llm.output_messages",
            "ai.response.text", "llm.completions", "output.value")  # fmt: skip
_TOOLS = ("gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools")
_MESSAGE = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_CHOICE = "gen_ai.choice"
CUT = "["  # the beginning of JSON text that is not whole


def flat(attributes: dict[str, Any]) -> dict[str, Any]:
    """The same, and what objects among them hold under a name with dots, as other exports write it."""
    found = dict(attributes)
    for key, value in attributes.items():
        if isinstance(value, dict):
            found |= {f"{key}.{inner}": held for inner, held in flat(value).items()}
    return found


def is_prompted(attributes: dict[str, Any]) -> bool:
    """Whether a span that names no operation carries a prompt all the same."""
    return any(key == name or key.startswith(f"{name}.") for key in attributes for name in _PROMPTS)


def prompt(attributes: dict[str, Any]) -> Any:
    """Messages, a text, texts, or JSON text of them; None where the prompt was not captured."""
    for name in (*_PROMPTS, "input.value"):
        if (found := _listed(attributes, name)) not in (None, "", []):
            return _messages(found) if isinstance(found, list) else found
    return None


def answer(attributes: dict[str, Any]) -> str | None:
    for name in _ANSWERS:
        if (found := _listed(attributes, name)) is not None:
            return chat_parts.answer(_messages(found) if isinstance(found, list) else found)
    return None


def tools(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """OpenAI's tool definitions."""
    found = next((t for name in _TOOLS if (t := chat_parts.unpacked(_listed(attributes, name))) is not None), None)
    listed = found if isinstance(found, list) else []
    given = [chat_parts.unpacked(_inside(_inside(t, "tool"), "json_schema")) for t in listed]
    given = [{**t, "parameters": chat_parts.unpacked(t["parameters"])} if "parameters" in t else t
             for t in given if isinstance(t, dict)]  # fmt: skip
    return [t if "function" in t else {"type": "function", "function": t} for t in given]


def of_events(events: Any) -> dict[str, Any]:
    """Attributes that the events of a span, or of a log, carry in its place."""
    found: dict[str, Any] = {}
    said: list[dict[str, Any] | None] = []
    for name, given in _events(events):
        message = chat_parts.unpacked(given.get("gen_ai.event.content"))
        held = message if isinstance(message, dict) else given
        if match := _MESSAGE.fullmatch(name):
            said.append(_said(match[1], held))
        elif name == _CHOICE:
            found["gen_ai.completion"] = held.get("message", held.get("content"))
        else:
            found |= {k: v for k, v in given.items() if k.startswith("gen_ai.")}
    return {**found, "gen_ai.input.messages": said} if said and None not in said else found


def _events(events: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    events = chat_parts.unpacked(events)
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict):
            given = event.get("attributes", event)
            yield str(event.get("name") or event.get("event.name")), given if isinstance(given, dict) else {}


def _said(role: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The message of one event; None where its content was not captured."""
    calls = chat_parts.unpacked(given.get("tool_calls"))
    if given.get("content") is None and not calls:
        return None
    found: dict[str, Any] = {"role": str(given.get("role") or role), "content": _content(given.get("content"))}
    if isinstance(calls, list) and calls:
        found["tool_calls"] = calls
    if found["role"] == "tool" and isinstance(given.get("id"), str):
        found["tool_call_id"] = given["id"]
    return found


def _listed(attributes: dict[str, Any], name: str) -> Any:
    """The value of `name`, or the list that its numbered names make up."""
    numbered = {key[len(name) + 1 :]: value for key, value in attributes.items() if key.startswith(f"{name}.")}
    numbered = {key: value for key, value in numbered.items() if key.partition(".")[0].isdigit()}
    if numbered:
        places = {int(key.partition(".")[0]) for key in numbered}
        return _tree(numbered) if max(places) < len(places) else CUT  # attributes beyond a limit are dropped
    return _tree(value) if isinstance(value := attributes.get(name), list) else value


def _tree(value: Any) -> Any:
    """Names with dots as objects in objects, and objects whose names are numbers as lists."""
    if isinstance(value, list):
        return [_tree(item) for item in value]
    if not isinstance(value, dict):
        return value
    root: dict[str, Any] = {}
    for key, item in value.items():
        *parents, last = key.split(".") if isinstance(key, str) else (str(key),)
        node = root
        for parent in parents:
            held = node.get(parent)
            node[parent] = node = held if isinstance(held, dict) else {}
        node[last] = item
    found = {key: _tree(item) for key, item in root.items()}
    numbers = found and all(key.isdigit() for key in found)
    return [found[key] for key in sorted(found, key=int)] if numbers else found


def _messages(items: list[Any]) -> list[Any]:
    """Items of numbered and nested attributes as OpenAI's messages; others as they are."""
    return [_message(item) if isinstance(item, dict) else item for item in items]


def _message(item: dict[str, Any]) -> Any:
    if isinstance(text := _inside(_inside(item, "prompt"), "text"), str):
        return text  # of a completion
    if set(item) == {"user"} and isinstance(item["user"], str):
        return item["user"]
    item = _inside(item, "message")
    if "parts" in item:
        return item
    content = item.get("contents", item.get("content"))
    found = {**item, "content": _content(content)}
    found.pop("contents", None)
    calls = item.get("tool_calls")
    if isinstance(calls, list) and calls:
        found["tool_calls"] = [_call(_inside(call, "tool_call")) for call in calls if isinstance(call, dict)]
    return found


def _content(content: Any) -> Any:
    """Text, or OpenAI's parts; also where they are JSON text."""
    given = chat_parts.unpacked(content) if isinstance(content, str) and content[:2] == "[{" else content
    if not isinstance(given, list) or not all(isinstance(part, dict) for part in given):
        return content if isinstance(content, (str, list)) or content is None else json.dumps(content)
    parts = [_inside(part, "message_content") for part in given]
    if not all("type" in part or isinstance(part.get("text"), str) for part in parts):
        return content
    return [{"type": "text", **part} for part in parts]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = _inside(call, "function")
    arguments = function.get("arguments")
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {
        "id": str(call.get("id") or ""), "type": "function",
        "function": {"name": str(function.get("name") or ""), "arguments": written},
    }  # fmt: skip


def _inside(item: Any, key: str) -> Any:
    """What an object holds under `key`, itself where it holds nothing there."""
    return item[key] if isinstance(item, dict) and isinstance(item.get(key), (dict, str)) else item
