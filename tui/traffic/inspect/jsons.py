"""JSON inside a prompt, in one order of keys."""

import json
from typing import Any

_DECODER = json.JSONDecoder()


def canonical(value: Any) -> Any:
    """The same with the keys of every object sorted."""
    if isinstance(value, dict):
        return {key: canonical(value[key]) for key in sorted(value)}
    return [canonical(item) for item in value] if isinstance(value, list) else value


def sorted_tools(tools: list[Any]) -> list[Any]:
    """Keys sorted, and the tools by their JSON."""
    return sorted((canonical(tool) for tool in tools), key=_name)


def _name(tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else ""
    return f"{name} {json.dumps(tool, sort_keys=True)}"


def sorted_text(text: str) -> str:
    """Every JSON object in `text` with its keys sorted; spacing as json.dumps has it, indented where it was."""
    pieces, place = [], 0
    while (start := text.find("{", place)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            pieces.append(text[place : start + 1])
            place = start + 1
            continue
        pieces.append(text[place:start])
        was = text[start:end]
        pieces.append(was if len(value) < 2 and not _nested(value) else _written(value, was))
        place = end
    return "".join([*pieces, text[place:]])


def _nested(value: dict[str, Any]) -> bool:
    return any(isinstance(item, (dict, list)) for item in value.values())


def _written(value: Any, was: str) -> str:
    tight = None if ": " in was or ", " in was else (",", ":")
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, indent=2 if "\n" in was else None,
        separators=None if "\n" in was else tight,
    )  # fmt: skip
