"""A recording in the formats of other tools: aiperf and Mooncake, OpenAI Batch, vllm bench's custom data set."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic.recording import Recording, Request, is_embeddings
from tui.traffic.whole_file import WholeFile, refuse

EXAMPLES = 5
_FORKS = "links where several turns follow one answer"
_DAY = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(slots=True)
class Converted:
    """What was written, what could not be, and what the other format has no place for."""

    format: str
    read: int = 0
    skipped: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        return self.read - sum(count for count, _ in self.skipped.values())

    def skip(self, id: str, reason: str) -> None:
        count, examples = self.skipped.get(reason, (0, []))
        self.skipped[reason] = (count + 1, [*examples, id][:EXAMPLES])

    def to_json(self) -> dict[str, Any]:
        skipped = [{"reason": r, "count": n, "examples": ids} for r, (n, ids) in self.skipped.items()]
        return {
            "format": self.format,
            "read": self.read,
            "kept": self.kept,
            "skipped": skipped,
            "lost": list(self.lost),
        }


class NoPlace(ValueError):
    """A request that the other format can't express."""


@dataclass(frozen=True, slots=True)
class Target:
    """`row` makes a line; `lost` are the parts of a recording that no line of it can hold."""

    name: str
    row: Callable[[Request], dict[str, Any]]
    lost: tuple[str, ...]
    suffix: str = ".jsonl"


def convert(recording: Recording, name: str, out: Path, force: bool = False) -> Converted:
    """Write `out` whole or not at all. Raises VtuneError for an unknown format and where nothing can be written."""
    target = next((t for t in TARGETS if t.name == name), None)
    if target is None:
        raise VtuneError(f"no format {name!r}", f"one of: {', '.join(t.name for t in TARGETS)}")
    refuse(out, force, recording.path)
    done = Converted(name, lost=target.lost)
    if not _any(recording.requests, target):
        raise VtuneError(
            f"nothing in {recording.name} can be written as {name}", _first_reason(recording.requests, target)
        )
    with WholeFile(out) as file:
        for line in _lines(recording.requests, target, done):
            file.write(line)
    return done


def _lines(requests: Sequence[Request], target: Target, done: Converted) -> Iterator[str]:
    sessions = conversations(requests)
    for request in requests:
        done.read += 1
        if request.id in sessions and not request.extra.get("session"):
            request = _in_session(request, sessions[request.id])
        try:
            row = target.row(request)
        except NoPlace as error:
            done.skip(request.id, str(error))
            continue
        # ASCII, for some readers split lines at U+2028 and its kind; the text is the same.
        yield json.dumps(row, allow_nan=False) + "\n"


def _in_session(request: Request, session: str) -> Request:
    known = {field.name: getattr(request, field.name) for field in fields(Request)}
    return Request(**{**known, "extra": {**request.extra, "session": session}})


def conversations(requests: Sequence[Request]) -> dict[str, str]:
    """The session of each linked request: the id of its first turn. Formats with sessions know no forks, so of several
    turns that follow one answer the first carries the session on, and each other begins one of its own."""
    sessions: dict[str, str] = {}
    followed: set[str] = set()
    for request in requests:
        if request.after is None:
            continue
        if request.after in followed:
            sessions[request.id] = request.id
        else:
            sessions[request.id] = sessions.setdefault(request.after, request.after)
        followed.add(request.after)
    return sessions


def _any(requests: Iterable[Request], target: Target) -> bool:
    for request in requests:
        try:
            target.row(request)
        except NoPlace:
            continue
        return True
    return False


def _first_reason(requests: tuple[Request, ...], target: Target) -> str:
    try:
        target.row(requests[0])
    except NoPlace as error:
        return f"the first request: {error}"
    return "another format may hold it"


def _batch(request: Request) -> dict[str, Any]:
    """OpenAI Batch input, with the keys beside it that vtune reads back; `stream` is not allowed in a batch."""
    body = {key: value for key, value in request.body.items() if key not in ("stream", "stream_options")}
    row: dict[str, Any] = {"custom_id": request.id, "method": "POST", "url": request.path, "body": body}
    # As a date its unit can't be mistaken; the day does not matter.
    row["timestamp"] = (_DAY + timedelta(seconds=request.at)).isoformat(timespec="microseconds")
    if session := request.extra.get("session"):
        row["session_id"] = session
    return row


def _aiperf(request: Request) -> dict[str, Any]:
    """aiperf's mooncake_trace with whole payloads, which keeps the body as it was sent."""
    if is_embeddings(request.path):
        raise NoPlace("a call for embeddings: aiperf's payloads are chats and completions")
    row: dict[str, Any] = {"timestamp": _ms(request), **_delay(request), "payload": request.body}
    if (length := _output(request)) is not None:
        row["output_length"] = length
    if session := request.extra.get("session"):
        row["session_id"] = session
    return row


def _mooncake(request: Request) -> dict[str, Any]:
    """Lengths and hash ids where the recording came with them, else the messages or text."""
    prompt, ids = request.body.get("prompt"), request.extra.get("hash_ids")
    row: dict[str, Any] = {"timestamp": _ms(request), **_delay(request)}
    if isinstance(prompt, list) and all(isinstance(token, int) for token in prompt):
        if ids is not None and request.extra.get("block_size", 512) != 512:
            raise NoPlace(f"its hash ids stand for {request.extra['block_size']} tokens, and Mooncake's for 512")
        row["input_length"] = len(prompt)
    elif isinstance(request.body.get("messages"), list):
        row["messages"] = request.body["messages"]
        row |= {"tools": request.body["tools"]} if request.body.get("tools") else {}
    elif isinstance(prompt, str):
        row["text_input"] = prompt
    else:
        raise NoPlace("neither messages nor a prompt")
    if (length := _output(request)) is not None:
        row["output_length"] = length
    if ids:
        row["hash_ids"] = ids
    if session := request.extra.get("session"):
        row["session_id"] = session
    return row


def _custom(request: Request) -> dict[str, Any]:
    """One text prompt, around which the benchmark puts the chat template: only a lone user message is that."""
    messages, prompt = request.body.get("messages"), request.body.get("prompt")
    if isinstance(messages, list):
        if len(messages) != 1 or messages[0].get("role") != "user" or not isinstance(messages[0].get("content"), str):
            raise NoPlace("more than a lone user message: the data set has a single prompt a row")
        prompt = messages[0]["content"]
        if request.body.get("tools"):
            raise NoPlace("tools: the data set has a single prompt a row")
    if not isinstance(prompt, str):
        raise NoPlace("token ids: the data set holds text")
    length = _output(request)
    return {"prompt": prompt, **({"output_tokens": length} if length is not None else {})}


def _delay(request: Request) -> dict[str, float]:
    """The think time of a later turn, ms."""
    return {} if request.think_s is None or request.after is None else {"delay": round(request.think_s * 1000, 3)}


def _ms(request: Request) -> int:
    return round(request.at * 1000)


def _output(request: Request) -> int | None:
    """The limit of the request, else what its recorded answer had."""
    usage = (request.reply or {}).get("usage") or {}
    for value in (
        request.body.get("max_tokens"),
        request.body.get("max_completion_tokens"),
        usage.get("completion_tokens"),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


TARGETS = (
    Target("aiperf", _aiperf, ("ids", _FORKS, "recorded answers", "times finer than 1 ms")),
    Target(
        "mooncake", _mooncake, ("ids", _FORKS, "settings of the requests", "recorded answers", "times finer than 1 ms")
    ),
    Target("openai-batch", _batch, (_FORKS, "think times", "recorded answers", "stream")),
    Target(
        "vllm-custom", _custom, ("arrival times", "ids", "sessions", "settings of the requests", "recorded answers")
    ),
)
