"""The events of one streamed answer, shaped like the captured ones of vLLM 0.32."""

import json
from collections.abc import Iterator
from typing import Any

from standin.faults import Faults
from standin.simulated import Plan


class Shape:
    """Builds chunks for chat or plain completions."""

    def __init__(self, body: dict[str, Any], chat: bool, request_id: str, faults: Faults) -> None:
        self.body, self.chat, self.faults = body, chat, faults
        kind = "chat.completion.chunk" if chat else "text_completion"
        prefix = "chatcmpl" if chat else "cmpl"
        self.base = {"id": f"{prefix}-{request_id}", "object": kind, "created": 1795972233, "model": body.get("model")}

    def event(self, row: dict[str, Any]) -> bytes:
        separators = (", ", ": ") if self.faults.spaced else (",", ":")
        text = json.dumps(row, ensure_ascii=False, separators=separators)
        return self.end_lines(b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n")

    def end_lines(self, data: bytes) -> bytes:
        return data.replace(b"\n", b"\r\n") if self.faults.crlf else data

    def role(self) -> bytes:
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return self.event({**self.base, "choices": [choice], "prompt_token_ids": None, "prompt_text": None})

    def content(self, text: str, number: int, finish: str | None) -> bytes:
        """`number` counts the tokens before this chunk."""
        if not self.chat:
            choice: dict[str, Any] = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        else:
            choice = {"index": 0, "delta": self._delta(text, number), "logprobs": None, "finish_reason": finish}
        choice |= {"stop_reason": None} if finish else {}
        return self.event({**self.base, "choices": [{**choice, "token_ids": None}]})

    def _delta(self, text: str, number: int) -> dict[str, Any]:
        if number < self.faults.reasoning:
            return {"reasoning": text}
        if self.faults.tool_call:
            first = {"id": "call-1", "type": "function"} if number == 0 else {}
            function = {"name": "look_up", "arguments": text} if number == 0 else {"arguments": text}
            return {"tool_calls": [{"index": 0, **first, "function": function}]}
        return {"content": text}

    def usage(self, plan: Plan, produced: int, metrics: dict[str, Any] | None, details: bool) -> bytes:
        row = {**self.base, "choices": [], "usage": usage(plan, produced, details), "system_fingerprint": "vllm-0.32.0"}
        return self.event({**row, "metrics": metrics} if metrics else row)

    def error(self) -> bytes:
        error = {"message": "EngineCore encountered an issue. See stack trace (above) for the root cause."}
        return self.event({"error": {**error, "type": "InternalServerError", "param": None, "code": 500}})


def usage(plan: Plan, produced: int, details: bool) -> dict[str, Any]:
    cached = {"cached_tokens": plan.cached_tokens, "created_cache_tokens": 0} if details else None
    return {
        "prompt_tokens": plan.prompt_tokens,
        "total_tokens": plan.prompt_tokens + produced,
        "completion_tokens": produced,
        "prompt_tokens_details": cached,
    }


def chunks(plan: Plan, per_chunk: int) -> Iterator[tuple[str, int, int]]:
    """(text, tokens before, steps taken) of each chunk."""
    place = 0
    steps = [per_chunk] * -(-len(plan.words) // per_chunk) if per_chunk else plan.steps
    for tokens in steps:
        yield "".join(plan.words[place : place + tokens]), place, 1 if not per_chunk else tokens
        place += tokens
