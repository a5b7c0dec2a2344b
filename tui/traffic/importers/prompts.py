"""Prompts without times: vllm bench's custom data set and guidellm's columns."""

from typing import Any

from tui.traffic.importers import reply
from tui.traffic.importers.format import Format, Rows, by_either, by_object
from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Skip, whole
from tui.traffic.importers.sniff import Sniffed

_PROMPT = ("prompt", "instruction", "question", "input", "context", "content", "conversation", "turn", "text")
_MESSAGES = ("messages", "chat_messages")
_SYSTEM = ("system_prompt", "system", "prefix")
_LENGTH = ("output_tokens_count", "completion_tokens_count", "output_tokens")


def custom_row(line: int, row: dict[str, Any]) -> Rows:
    """The benchmark's client applies the chat template to the prompt, hence a chat request."""
    prompt = row.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        yield Skip(line, "no prompt")
        return
    yield Found(
        line, CHAT, {"messages": [{"role": "user", "content": prompt}]}, output_tokens=whole(row.get("output_tokens"))
    )


def guidellm_row(line: int, row: dict[str, Any]) -> Rows:
    length = next((whole(row[key]) for key in _LENGTH if key in row), None)
    messages = next((row[key] for key in _MESSAGES if isinstance(row.get(key), list)), None)
    if messages is None:
        prompt = next((row[key] for key in _PROMPT if isinstance(row.get(key), str) and row[key]), None)
        if prompt is None:
            yield Skip(line, "no column with a prompt")
            return
        system = next((row[key] for key in _SYSTEM if isinstance(row.get(key), str) and row[key]), None)
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
    tools = {"tools": row["tools"]} if isinstance(row.get("tools"), list) else {}
    yield Found(line, CHAT, {"messages": messages, **tools}, row.get("timestamp"), output_tokens=length)


def plain_row(line: int, row: dict[str, Any]) -> Rows:
    """A bare prompt for the completion endpoint, where nothing says that a template belongs around it."""
    if not isinstance(row.get("prompt"), (str, list)):
        yield Skip(line, "no prompt")
        return
    answer = row["completion"] if isinstance(row.get("completion"), str) else None
    yield Found(line, COMPLETIONS, {"prompt": row["prompt"]}, row.get("timestamp"), answer=answer,
                reply=reply.made(None, text=answer))  # fmt: skip


def _is_custom(found: Sniffed) -> str | None:
    rows = [row for row in found.objects if isinstance(row.get("prompt"), str)]
    if rows and all(set(row) <= {"prompt", "output_tokens"} for row in rows) and found.has("prompt", "output_tokens"):
        return "rows of prompt and output_tokens"
    return None


def _is_guidellm(found: Sniffed) -> str | None:
    counts = ("output_tokens_count", "completion_tokens_count", "prompt_tokens_count", "input_tokens_count")
    if found.share(*counts) >= 0.5 and found.share(*_PROMPT, *_MESSAGES) >= 0.5:
        return "rows of a prompt with token counts"
    columns = set(found.columns)
    return "columns of a prompt with token counts" if columns & set(counts) and columns & set(_PROMPT) else None


def _is_plain(found: Sniffed) -> str | None:
    return "rows of prompts" if found.share("prompt") >= 0.5 else None


CUSTOM = Format("vllm-custom", "vllm bench custom data set", _is_custom, by_object(custom_row))
GUIDELLM = Format("guidellm", "guidellm data set", _is_guidellm, by_either(guidellm_row), "s")
PLAIN = Format("prompts", "rows of prompts", _is_plain, by_object(plain_row))
