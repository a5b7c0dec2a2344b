"""What a reader of one format hands on: a request that was found, or why there is none."""

from dataclasses import dataclass
from typing import Any

_COUNTABLE = 1 << 62
CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


@dataclass(frozen=True, slots=True)
class Made:
    """A prompt that has to be made up, because the source has only its length in tokens.

    `blocks` are the source's hash ids, in order: equal ids in one `space` stand for equal tokens. None
    means that the source says nothing about shared prefixes, which is not the same as an empty list.
    `whole_only` is a source that lists full blocks alone and leaves the rest of the prompt out.
    """

    tokens: int
    blocks: tuple[int | str, ...] | None = None
    space: str = ""
    whole_only: bool = False


@dataclass(slots=True)
class Found:
    """One request as its source has it; `stamp` is the raw time, None where the source has none."""

    line: int
    path: str
    body: dict[str, Any]
    stamp: Any = None
    id: str | None = None
    session: str | None = None
    group: str | None = None
    parent: str | None = None  # the source's id of the request whose answer this one follows
    think_s: float | None = None
    reply: dict[str, Any] | None = None
    answer: str | None = None  # its text is never stored, only its hash
    output_tokens: int | None = None
    made: Made | None = None
    failed: bool = False
    redacted: tuple[str, ...] = ()
    credentials: frozenset[str] = frozenset()
    extra: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """Something in the source that is no request that can be replayed; `detail` is for this one only."""

    line: int
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a source says about all of its requests."""

    synthetic: bool = False
    lacks: tuple[str, ...] = ()
    rules_out: tuple[str, ...] = ()


def whole(value: object) -> int | None:
    """A count of 0 or more, from a number or its text; None for anything else (unknown is not zero)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")) or value != int(value)):
        return None
    return int(value) if isinstance(value, (int, float)) and 0 <= value < _COUNTABLE else None


def text(value: object) -> str | None:
    """An id as text that can be written; None where there is none."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def usage(prompt: object, completion: object) -> dict[str, int] | None:
    """OpenAI's usage object with what is known."""
    known = {"prompt_tokens": whole(prompt), "completion_tokens": whole(completion)}
    return {key: n for key, n in known.items() if n is not None} or None
