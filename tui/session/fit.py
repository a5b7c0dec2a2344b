"""Which requests the engine's context is too short for, known before any is sent."""

from collections.abc import Sequence
from typing import Any

from tui.traffic.recording import Request
from tui.traffic.replay.body import recorded_length

CUT = ("truncate_prompt_tokens", "truncation_side")  # a body with one of these asks the engine to cut its prompt


def too_long(
    requests: Sequence[Request], lengths: Sequence[int], max_model_len: int | None, fix_lengths: bool = False
) -> tuple[dict[str, str], int]:
    """(why, by id, of those that can't be answered; how many more ask for more tokens than are left).

    vLLM refuses a prompt that leaves no room for a token (vllm/v1/engine/input_processor.py) and, in 0.32, one whose
    `max_tokens` does not fit behind it (vllm/renderers/params.py); others shorten the answer, so those are sent.
    """
    if max_model_len is None:
        return {}, 0
    beyond: dict[str, str] = {}
    tight = 0
    for request, length in zip(requests, lengths, strict=True):
        if any(request.body.get(key) is not None for key in CUT):
            continue
        if length >= max_model_len:
            beyond[request.id] = f"its prompt has {length:,} tokens, the engine's max-model-len is {max_model_len:,}"
        elif length + (_asked(request, fix_lengths) or 1) > max_model_len:
            tight += 1
    return beyond, tight


def _asked(request: Request, fix_lengths: bool) -> int | None:
    if fix_lengths:
        return recorded_length(request)
    body: dict[str, Any] = request.body
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    return asked if isinstance(asked, int) and not isinstance(asked, bool) else None


def words(beyond: dict[str, str], tight: int, total: int) -> tuple[str, str] | None:
    """What and mend for a notice before the run; None where all fit."""
    if beyond:
        id, why = next(iter(beyond.items()))
        return (f"{len(beyond)} of {total} requests don't fit into the engine's context and are not sent: {id}: {why}",
                "raise max-model-len, or leave them out of the recording")  # fmt: skip
    if tight:
        return (f"{tight} of {total} requests ask for more tokens than the engine's context has behind their prompt",
                "some versions of vLLM refuse them: raise max-model-len or lower max_tokens")  # fmt: skip
    return None
