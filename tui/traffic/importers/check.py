"""Whether a body can be replayed on a model of text, and with what limit of its length."""

import json
from collections.abc import Iterator
from typing import Any

from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Skip, whole

CAP = 256  # tokens, where neither the request nor its recorded answer names a length
_BYTES_A_TOKEN = 4  # a rough figure for English text, used only where no count was recorded
CUT = "the prompt was cut by the logger"
# A token is at least two characters of nearly any text; fewer here than half of those counted means a cut prompt.
_LONG = 200
_TEXT = ("text", "input_text", "output_text", "refusal", "thinking")


def path_of(url: object, body: dict[str, Any] | None = None) -> str | None:
    """The endpoint at the end of a recorded URL, host and query dropped; None for anything that makes no text."""
    if not isinstance(url, str) or not url:
        if body is None:
            return None
        return CHAT if "messages" in body else COMPLETIONS if "prompt" in body else None
    place = url.split("?", 1)[0].split("#", 1)[0].rstrip("/")
    if place.endswith("/chat/completions"):
        return CHAT
    return COMPLETIONS if place.endswith("/completions") else None


def problem(found: Found) -> tuple[str, str] | None:
    """(reason, detail) why a request can't be replayed; None if it can."""
    body = found.body
    if found.made is None:
        if found.path == CHAT:
            if "system" in body:
                return "a body of Anthropic's Messages API: its system text stands outside the messages", ""
            if trouble := _messages(body.get("messages")):
                return trouble
        elif trouble := _prompt(body):
            return trouble
        if trouble := _cut(found):
            return trouble
    for key in ("max_tokens", "max_completion_tokens"):
        value = body.get(key)
        if value is not None and (isinstance(value, (str, bool)) or whole(value) is None):
            return f'"{key}" is not a whole number', f'"{key}" is {str(value)[:20]!r}'
    return None


def split(found: Found) -> Iterator[Found | Skip]:
    """A completion call with a list of prompts is several requests, all of one moment."""
    prompt = found.body.get("prompt") if found.path == COMPLETIONS else None
    if not isinstance(prompt, list) or not prompt or not isinstance(prompt[0], (str, list)):
        yield found
        return
    for number, one in enumerate(prompt, 1):
        yield Found(
            found.line, found.path, {**found.body, "prompt": one}, found.stamp,
            f"{found.id}.{number}" if found.id and len(prompt) > 1 else found.id, found.session, found.group,
            reply=None if len(prompt) > 1 else found.reply, redacted=found.redacted, credentials=found.credentials,
            failed=found.failed, extra=found.extra,
        )  # fmt: skip


def limit(found: Found) -> str | None:
    """Give a body without a limit one, and say from where; the engine would else fill its whole context."""
    body = found.body
    if body.get("max_tokens") is not None or body.get("max_completion_tokens") is not None:
        return None
    known = found.output_tokens
    if known is None:
        known = whole(((found.reply or {}).get("usage") or {}).get("completion_tokens"))
    if known:
        body["max_tokens"] = known
        return "without max_tokens: the recorded output length was put in"
    if found.answer:
        body["max_tokens"] = max(1, -(-len(found.answer.encode(errors="replace")) // _BYTES_A_TOKEN))
        return f"without max_tokens: estimated from the recorded answer at {_BYTES_A_TOKEN} bytes a token"
    body["max_tokens"] = CAP
    return f"without max_tokens and without a recorded length: capped at {CAP}"


def _messages(messages: Any) -> tuple[str, str] | None:
    if not isinstance(messages, list) or not messages:
        return "no messages", ""
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return "a message without a role", ""
        content = message.get("content")
        if isinstance(content, list):
            for part in content:
                kind = part.get("type") if isinstance(part, dict) else "text" if isinstance(part, str) else None
                if kind not in _TEXT:
                    return f"not text: {_plain(kind)} in a message", ""
                if isinstance(part, dict) and "text" in kind and not isinstance(part.get("text"), str):
                    return "a text part without its text", ""
        elif content is not None and not isinstance(content, str):
            return "content that is neither text nor a list of parts", ""
    return None


def _cut(found: Found) -> tuple[str, str] | None:
    tokens = whole(((found.reply or {}).get("usage") or {}).get("prompt_tokens"))
    if tokens is None or tokens <= _LONG:
        return None
    sent = json.dumps(found.body, ensure_ascii=False)
    if len(sent.encode(errors="replace")) * 2 >= tokens:
        return None
    return CUT, f"{CUT}: {tokens} prompt tokens were counted, and {len(sent)} characters are here"


def _prompt(body: dict[str, Any]) -> tuple[str, str] | None:
    prompt = body.get("prompt")
    if "prompt_embeds" in body and not prompt:
        return "prompt embeddings, not text", ""
    if prompt is None or prompt in ("", []):
        return "no prompt", ""
    if isinstance(prompt, str):
        return None
    if not isinstance(prompt, list) or not all(type(token) is int and 0 <= token < 1 << 31 for token in prompt):
        return "token ids that are not whole numbers of 0 or more", ""
    return None


def _plain(kind: object) -> str:
    return kind if isinstance(kind, str) and kind.isascii() and len(kind) < 30 else "an unknown part"
