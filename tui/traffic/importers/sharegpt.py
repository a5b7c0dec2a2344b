"""ShareGPT conversations: each answer is a request with all turns before it."""

import json
from typing import Any

from tui.traffic.importers import reply
from tui.traffic.importers.format import Format, Rows, by_object
from tui.traffic.importers.found import CHAT, Found, Skip, text
from tui.traffic.importers.sniff import Sniffed

_ROLES = {
    "human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant",
    "bing": "assistant", "bard": "assistant", "system": "system", "observation": "tool", "tool": "tool",
}  # fmt: skip


def conversation(line: int, row: dict[str, Any]) -> Rows:
    turns = row.get("conversations", row.get("conversation"))
    if row.get("images"):
        yield Skip(line, "not text: images in the conversation")
        return
    if not isinstance(turns, list) or not turns:
        yield Skip(line, "no turns")
        return
    messages = _messages(row.get("system"), turns)
    if isinstance(messages, str):
        yield Skip(line, messages)
        return
    session, found = text(row.get("id")) or f"line {line}", 0
    tools = _tools(row.get("tools"))
    for place, message in enumerate(messages):
        asked = any(m["role"] == "user" for m in messages[:place])
        if message["role"] == "assistant" and asked:
            found += 1
            yield Found(line, CHAT, {"messages": messages[:place], **tools}, session=f"{line}/{session}",
                        answer=message["content"], reply=reply.made(None, text=message["content"]))  # fmt: skip
    if not found:
        yield Skip(line, "no answer after a user's turn")


def _messages(system: Any, turns: list[Any]) -> list[dict[str, Any]] | str:
    found = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
    for turn in turns:
        if not isinstance(turn, dict):
            return "a turn that is no object"
        role = _ROLES.get(str(turn.get("from", turn.get("role"))))
        words = turn.get("value", turn.get("content"))
        if role is None:
            return "a turn of an unknown speaker"
        if not isinstance(words, str):
            return "a turn without text"
        found.append({"role": role, "content": words})
    return found


def _tools(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return {"tools": value} if isinstance(value, list) and value else {}


def _matches(found: Sniffed) -> str | None:
    if found.has("conversations"):
        return "conversations of from and value"
    turns = [row["conversation"] for row in found.objects if isinstance(row.get("conversation"), list)]
    return "conversations of role and content" if any(isinstance(t, dict) for turn in turns for t in turn) else None


SHAREGPT = Format("sharegpt", "ShareGPT conversations", _matches, by_object(conversation), chain=True)
