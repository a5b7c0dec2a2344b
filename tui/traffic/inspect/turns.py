"""Prompts with what was generated after them: a later turn may reuse the blocks of the answer that it carries."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from tui.traffic.inspect.parts import text_of
from tui.traffic.prefix import Prompt
from tui.traffic.recording import Request

Tokens = Sequence[Sequence[int]]
CHANGED = "prompt_changed"  # in a reply: it was given to the prompt before a mend
TELLING = 24  # characters of a question by which a conversation is known again


def prompts(requests: Sequence[Request], tokens: Tokens, per_token: float | None = None) -> list[Prompt]:
    """The requests as the cache sees them.

    An answer's length is the one that was recorded; with `per_token` (characters), that of its text.
    """
    place = {request.id: number for number, request in enumerate(requests)}
    answers: dict[str, Sequence[int]] = {}
    for request, ids in zip(requests, tokens, strict=True):
        if request.after not in place:
            continue
        before = place[request.after]
        start = len(tokens[before])
        if list(ids[:start]) == list(tokens[before]):
            answers[request.after] = ids[start : start + answered(requests[before], request, per_token)]
    return [
        Prompt(request.id, ids, salt(request), answers.get(request.id, ()))
        for request, ids in zip(requests, tokens, strict=True)
    ]


def salt(request: Request) -> str | None:
    value = request.body.get("cache_salt")
    return value if isinstance(value, str) and value else None


def answered(before: Request, request: Request, per_token: float | None) -> int:
    """Tokens that `request` carries and that were generated as the answer to `before`."""
    return _length(before, _answer(before, request), per_token)


def _answer(before: Request, request: Request) -> str | None:
    """The text that this turn carries as the answer to the turn before it; None where it carries none."""
    said, messages = before.body.get("messages"), request.body.get("messages")
    if not isinstance(said, list) or not isinstance(messages, list) or len(messages) <= len(said):
        return None
    message = messages[len(said)]
    return text_of(message) if isinstance(message, dict) and message.get("role") == "assistant" else None


def _length(before: Request, answer: str | None, per_token: float | None) -> int:
    """Tokens of the answer that were generated and are carried, 0 where it is not known to be that very answer."""
    reply = before.reply or {}
    if not reply or reply.get(CHANGED):
        return 0
    was = reply.get("text_sha256")
    if answer is not None and was and was != sha256(answer.encode(errors="surrogatepass")).hexdigest():
        return 0
    usage = reply.get("usage") or {}
    counted = int(usage.get("completion_tokens") or 0)
    if per_token is None or answer is None:
        return counted
    return -(-len(answer) // int(per_token))


def follows(one: Request, other: Request) -> bool:
    """Whether `other` is a later turn of the conversation of `one`, by its link or by what it repeats."""
    if other.after is not None:
        return other.after == one.id
    asked = question(one)
    return asked is not None and asked in _earlier_questions(other)


def linked(requests: Sequence[Request]) -> Iterator[tuple[Request, Request | None]]:
    """Each request with the turn before it, by its link or, where it has none, by a question that it repeats."""
    seen: dict[str, Request] = {}
    asked: dict[str, Request] = {}
    for request in requests:
        before = seen.get(request.after or "")
        if before is None and request.after is None:
            before = next((asked[text] for text in reversed(_earlier_questions(request)) if text in asked), None)
        yield request, before
        seen[request.id] = request
        if text := question(request):
            asked[text] = request


def question(request: Request) -> str | None:
    """What the request asks last, if it is long enough to be known again."""
    asked = _questions(request)
    return asked[-1] if asked and len(asked[-1]) >= TELLING else None


def _earlier_questions(request: Request) -> list[str]:
    return _questions(request)[:-1]


def _questions(request: Request) -> list[str]:
    messages = request.body.get("messages")
    if not isinstance(messages, list):
        return []
    return [text_of(message) for message in messages if isinstance(message, dict) and message.get("role") == "user"]
