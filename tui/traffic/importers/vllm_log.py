"""vLLM's own request log: prompts and bodies at DEBUG, only ids and sampling parameters at INFO."""

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Any

from tui.traffic.importers import check, reply, secrets
from tui.traffic.importers.format import Format, Rows
from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Skip
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Before it, the process, or what a container's log puts there; the file stands in brackets since vLLM 0.8.
_PREFIX = re.compile(
    r"^.{0,120}?\b(?:INFO|DEBUG|WARNING|ERROR) (?P<month>\d\d)-(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d)(?:[.,]\d+)? "
    r"(?:\[[^\]]*\]|\S+:\d+\]) (?P<said>.*)$", re.DOTALL,
)  # fmt: skip
_RECEIVED = re.compile(r"Received request (?P<id>[^\s:]+): ")
_DETAILS = re.compile(r"Request (?P<id>\S+) details: ")
_JSON = re.compile(r"Request (?P<id>\S+) JSON body: ")
_GENERATED = re.compile(r"Generated response (?P<id>\S+) \((?P<kind>[^)]*)\): output: ")
_NUMBER = re.compile(r"\b(max_tokens|temperature|top_p|seed|n|min_tokens)=(-?[\d.]+)\b")
_WAITING = 10_000  # requests whose lines have not all come
_YEAR = 2000  # a leap year, for the log has none


@dataclass(slots=True)
class _Request:
    line: int
    stamp: str
    body: dict[str, Any] | None = None
    prompt: str | None = None
    ids: list[int] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    answer: str | None = None
    cut: str | None = None
    received: bool = False


def rows(source: Source) -> Rows:
    """One request for each id that was received; lines that are not about requests are not counted."""
    waiting: dict[str, _Request] = {}
    year, month_before, requests = _YEAR, 1, False
    for number, raw, _ in source.lines():
        line = _COLOUR.sub("", raw.decode(errors="replace"))
        match = _PREFIX.match(line)
        if match is None:
            continue
        month = int(match["month"])
        year += month < month_before - 6
        month_before = month
        stamp = f"{year}-{match['month']}-{match['day']}T{match['time']}"
        _take(waiting, number, stamp, match["said"])
        requests = requests or bool(waiting)
        while len(waiting) > _WAITING:
            id = next(iter(waiting))
            yield _done(id, waiting.pop(id))
    for id, request in waiting.items():
        yield _done(id, request)
    if not requests:
        yield Skip(1, "no request in the log: vLLM writes them with --enable-log-requests (or use `vtune record`)")


def _take(waiting: dict[str, _Request], number: int, stamp: str, said: str) -> None:
    if match := _JSON.match(said):
        request = waiting.setdefault(match["id"], _Request(number, stamp))
        _json_body(request, said[match.end() :])
    elif match := _DETAILS.match(said):
        request = _of(waiting, match["id"], number, stamp)
        _prompt(request, said[match.end() :])
    elif match := _RECEIVED.match(said):
        request = _of(waiting, match["id"], number, stamp)
        request.received = True
        rest = said[match.end() :]
        if rest.startswith("prompt: "):
            rest = _prompt(request, rest)
        request.settings = _settings(rest)
    elif match := _GENERATED.match(said):
        request = _of(waiting, match["id"], number, stamp)
        request.answer, _ = _literal(said[match.end() :])


def _of(waiting: dict[str, _Request], id: str, number: int, stamp: str) -> _Request:
    """The body's line has the id without the kind of call before it, unless the client named it."""
    if id not in waiting and (bare := id.partition("-")[2]) in waiting:
        waiting[id] = waiting.pop(bare)
    return waiting.setdefault(id, _Request(number, stamp))


def _json_body(request: _Request, text: str) -> None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        request.cut = "the body was cut by --max-log-len"
        return
    request.body = body if isinstance(body, dict) else None


def _prompt(request: _Request, text: str) -> str:
    """Read ``prompt: '...', prompt_token_ids: [...]`` and return what follows the prompt."""
    prompt, rest = _literal(text.removeprefix("prompt: "))
    request.prompt = prompt
    place = rest.rfind("prompt_token_ids: [")
    if place >= 0:
        end = rest.find("]", place)
        try:
            ids = json.loads(rest[place + len("prompt_token_ids: ") : end + 1])
        except ValueError:
            ids = None
        request.ids = ids
    if prompt and request.ids and len(prompt) == len(request.ids):
        request.cut = "the prompt was cut by --max-log-len"  # it cuts text by characters and ids by count
    return rest


def _literal(text: str) -> tuple[str | None, str]:
    """(the Python string at the start, what follows), by its quoting: a prompt may hold anything."""
    quote = text[:1]
    if quote not in ("'", '"'):
        return None, text
    at = 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    try:
        value = ast.literal_eval(text[: at + 1])
    except (ValueError, SyntaxError):
        return None, text
    return value, text[at + 1 :]


def _settings(text: str) -> dict[str, Any]:
    start = text.find("params: SamplingParams(")
    found = dict(_NUMBER.findall(text[start:])) if start >= 0 else {}
    values = {key: float(value) if "." in value else int(value) for key, value in found.items()}
    return {key: value for key, value in values.items() if not (key == "seed" and value < 0)}


def _done(id: str, request: _Request) -> Found | Skip:
    line = request.line
    if request.cut:
        return Skip(line, request.cut)
    if request.body is not None:
        path = check.path_of(None, request.body)
        if path is None:
            return Skip(line, "not a chat or completion call")
        body, redacted, held = secrets.clean(request.body)
    else:
        redacted, held, path = (), frozenset(), COMPLETIONS
        # Text first: ids are good for their own tokenizer alone.
        prompt: Any = request.prompt or request.ids
        if not prompt:
            return Skip(line, "the log has no prompt: vLLM writes it at DEBUG only (record with `vtune record`)")
        # The chat template has put the special tokens in already.
        whole = {"add_special_tokens": False} if id.startswith("chatcmpl-") and isinstance(prompt, str) else {}
        body = {"prompt": prompt, **request.settings, **whole}
    if id.startswith(("embd-", "score-", "rerank-", "classify-", "pool-")):
        return Skip(line, "not a chat or completion call")
    return Found(
        line, CHAT if path == CHAT else COMPLETIONS, body, request.stamp, id, redacted=redacted, credentials=held,
        answer=request.answer, reply=reply.made(None, text=request.answer),
    )  # fmt: skip


def _matches(found: Sniffed) -> str | None:
    lines = _COLOUR.sub("", found.head.decode(errors="replace")).split("\n")
    return "lines of vLLM's log" if any(_PREFIX.match(line) for line in lines) else None


VLLM_LOG = Format(
    "vllm-log", "vLLM request log", _matches, rows,
    lacks=("arrival times finer than a second",), rules_out=("studies of arrival bursts",),
    notes=("the log has no year and no zone",), dated=False,
)  # fmt: skip
