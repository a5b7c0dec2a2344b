"""What is changed in a recorded body before it is sent."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tui.traffic.recording import Request
from tui.traffic.replay.spec import ReplaySpec

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Applies a spec to bodies; the recording itself stays as it is."""

    spec: ReplaySpec

    def encode(self, request: Request, own_answers: Sequence[str] = ()) -> bytes:
        """The body as it goes out.

        It is always streamed with usage, for otherwise there is no first token to time and no token count.
        `own_answers` replace the last assistant turns, in order (live turns).
        """
        spec, body = self.spec, dict(request.body)
        if spec.model:
            body["model"] = spec.model
        body["stream"] = True
        options = body.get("stream_options")
        body["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        if spec.cache_salt:
            body["cache_salt"] = spec.cache_salt
        if spec.fix_lengths and (length := recorded_length(request)):
            body.pop("max_completion_tokens", None)
            body.update(min_tokens=length, max_tokens=length, ignore_eos=True)
        if own_answers and isinstance(body.get("messages"), list):
            body["messages"] = live_messages(body["messages"], own_answers)
        return _JSON.encode(body).encode()


def recorded_length(request: Request) -> int | None:
    """Tokens the recorded answer had, else the most it was allowed; None if neither is known."""
    usage = (request.reply or {}).get("usage")
    candidates = [
        usage.get("completion_tokens") if isinstance(usage, dict) else None,
        request.body.get("max_completion_tokens"),
        request.body.get("max_tokens"),
    ]
    return next((n for n in candidates if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)


def live_messages(messages: list[Any], answers: Sequence[str]) -> list[Any]:
    """Put `answers` in place of the last assistant turns; earlier turns, which no linked request made, stay."""
    changed = list(messages)
    places = [i for i, m in enumerate(messages) if isinstance(m, dict) and m.get("role") == "assistant"]
    for place, answer in zip(reversed(places), reversed(answers), strict=False):
        changed[place] = {**changed[place], "content": answer}
    return changed
