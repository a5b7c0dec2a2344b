"""Prompt tokens of requests whose answers did not tell them, counted by the upstream's ``/tokenize`` (vLLM)."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from time import monotonic
from typing import Any

from tui.traffic.http.connection import Connection, ConnectionLost, ProtocolError, open_connection
from tui.traffic.http.target import Target, encode_request

# What changes the rendered prompt; vLLM's TokenizeChatRequest and TokenizeCompletionRequest know these.
_KEYS = (
    "model", "messages", "prompt", "tools", "chat_template", "chat_template_kwargs", "add_generation_prompt",
    "continue_final_message", "add_special_tokens", "mm_processor_kwargs",
)  # fmt: skip
_ONE_S = 20.0  # for one count


class _Collected:
    def __init__(self) -> None:
        self.body: list[bytes] = []
        self.first: int | None = None

    def on_sent(self, at: int) -> None:
        pass

    def on_body(self, pieces: list[bytes], at: int, kernel: bool) -> None:
        self.body += pieces


async def count(
    target: Target, rows: Iterable[tuple[int, dict[str, Any]]], limit_s: float, stop: asyncio.Event
) -> tuple[dict[int, int], str | None]:
    """({number: prompt tokens}, why it ended early). Without ``/tokenize`` it gives up at the first request."""
    counted: dict[int, int] = {}
    deadline = monotonic() + limit_s
    target = replace(target, base=target.base.removesuffix("/v1"))
    connection: Connection | None = None
    try:
        for number, body in rows:
            if stop.is_set() or monotonic() > deadline:
                return counted, "there was no time for all of them"
            prompt = body.get("prompt")
            if isinstance(prompt, list):
                if prompt and all(type(token) is int for token in prompt):
                    counted[number] = len(prompt)
                continue
            if connection is None or not connection.reusable:
                connection = await open_connection(target, timeout_s=_ONE_S)
            async with asyncio.timeout(_ONE_S):
                status, answer = await _ask(connection, target, body)
            if status in (404, 405, 501):
                return counted, f"the upstream has no /tokenize (it answered {status})"
            if status in (401, 403):
                return counted, f"the upstream's /tokenize wants a key (it answered {status})"
            tokens = answer.get("count") if isinstance(answer, dict) else None
            if status == 200 and isinstance(tokens, int) and tokens > 0:
                counted[number] = tokens
    except (OSError, ConnectionLost, ProtocolError, ValueError) as error:
        return counted, f"the upstream's /tokenize did not answer ({error or type(error).__name__})"
    finally:
        if connection is not None:
            connection.close()
    return counted, None


async def _ask(connection: Connection, target: Target, body: dict[str, Any]) -> tuple[int | None, Any]:
    asked = json.dumps({key: body[key] for key in _KEYS if key in body}, ensure_ascii=False).encode()
    collected = _Collected()
    headers = [("Content-Type", "application/json")]
    head = await connection.exchange(encode_request(target, "POST", "/tokenize", headers, asked), collected)
    return head.status, json.loads(b"".join(collected.body)) if head.status == 200 else None
