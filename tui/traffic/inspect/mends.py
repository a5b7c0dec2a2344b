"""What can be done about a break: each mend changes the requests that it concerns, and says how."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tui.traffic.inspect import edits, jsons, passages, patterns, turns
from tui.traffic.inspect.parts import Part, is_media, parts, text_of
from tui.traffic.recording import Request

LONGEST_LINE = 240  # characters; of a longer one, only the varying part is moved


class Mend(Protocol):
    """Equal mends are the same one, found at several pairs of requests."""

    @property
    def kind(self) -> str: ...

    @property
    def advice(self) -> str: ...

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        """As many requests, in the same order; those not concerned are the same objects."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a prompt: the same in every request that is built alike."""

    kind: str
    index: int
    role: str

    @classmethod
    def of(cls, part: Part) -> "Place":
        return cls(part.kind, part.index, part.role)

    def words(self) -> str:
        return f"message {self.index} ({self.role})" if self.kind == "message" else self.kind


@dataclass(frozen=True, slots=True)
class Move:
    """A varying part goes behind all that is stable: its line, or it alone where the line is long."""

    kind: str
    place: Place
    rule: str  # finds it: what stands before it, itself as `value`, what stands behind it

    @property
    def advice(self) -> str:
        return f"move the {_WORDS[self.kind]} behind the stable text, to the end of the last user message"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        rule = re.compile(self.rule, re.MULTILINE)
        moved: dict[str, Request] = {}
        for request, before in turns.linked(requests):
            now = self._moved(request, rule)
            moved[request.id] = now if before is None else _carried(now, request, before, moved[before.id])
        return [moved[request.id] for request in requests]

    def _moved(self, request: Request, rule: re.Pattern[str]) -> Request:
        taken: list[str] = []

        def cut(text: str) -> str:
            match = None if taken else rule.search(text)
            if match is None:
                return text
            start, end = text.rfind("\n", 0, match.start("value")) + 1, text.find("\n", match.end("value"))
            end = len(text) if end < 0 else end
            if end - start > LONGEST_LINE:
                taken.append(f"{self.kind}: {match['value']}")
                return f"{text[: match.start('value')]}[{self.kind}]{text[match.end('value') :]}"
            taken.append(text[start:end])
            # The line's end goes with it; a last line takes the one before it.
            return text[:start] + text[end + 1 :] if end < len(text) else text[: max(0, start - 1)]

        changed = edits.text(request, self.place.kind, self.place.index, self.place.role, cut)
        return edits.append(changed, taken[0]) if taken else request


def _carried(now: Request, was: Request, before: Request, sent: Request) -> Request:
    """A later turn carries the earlier messages as they are sent now, where it carried them as they were sent."""
    old, said, new = (request.body.get("messages") for request in (was, before, sent))
    messages = now.body.get("messages")
    if not all(isinstance(part, list) for part in (old, said, new, messages)):
        return now
    kept = [part for part in zip(old, said, new, strict=False)]
    carried = [third if first == second else message
               for message, (first, second, third) in zip(messages, kept, strict=False)]  # fmt: skip
    if carried == messages[: len(carried)]:
        return now
    return edits.body(now, messages=[*carried, *messages[len(carried) :]])


_WORDS = {"time": "time", "uuid": "identifier", "number": "number", "name": "name"}


def move(kind: str, place: Place, text: str, span: patterns.Span) -> Move:
    """The mend for a varying part of `text`, recognised by its surroundings in the same line."""
    line = text.rfind("\n", 0, span.start) + 1
    before = text[max(line, span.start - 40) : span.start]
    behind = text[span.end : span.end + span.behind].split("\n")[0]
    anchor = "^" if span.start - line <= 40 else ""
    value = patterns.KINDS.get(kind, rf"{patterns.WORD}(?:[ _-]{patterns.WORD}){{0,{patterns.WORDS - 1}}}?")
    tail = f"(?={_escaped(behind)})" if behind else "$" if text[span.end : span.end + 1] in ("", "\n") else ""
    return Move(kind, place, f"{anchor}{_escaped(before)}(?P<value>{value}){tail}")


def _escaped(text: str) -> str:
    return re.sub(r"\d+", r"\\d+", re.sub(r"([^\w\s])", r"\\\1", text))


@dataclass(frozen=True, slots=True)
class SortPassages:
    """The passages of a message go in one order everywhere: those most often used first."""

    place: Place
    kind: str = "reordered passages"
    advice: str = "put passages into a fixed order, those most often retrieved first, not by score"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        found = [split for request in requests for split in self._splits(request)]
        # One that is out of order shows that labels belong to their passages.
        numbered = all(split.numbered for split in found)
        used = Counter(key for split in found for key in set(split.keys(numbered)))
        order = sorted(used, key=lambda key: (-used[key], key))
        rank = {key: number for number, key in enumerate(order)}
        return [self._sorted(request, rank, numbered) for request in requests]

    def _splits(self, request: Request) -> Iterator[passages.Split]:
        for part in parts(request.body):
            if (part.kind, part.role) == (self.place.kind, self.place.role) and (found := passages.split(part.text)):
                yield found

    def _sorted(self, request: Request, rank: dict[str, int], numbered: bool) -> Request:
        def put(text: str) -> str:
            found = passages.split(text)
            return found.ordered(rank, numbered) if found else text

        # In every message of the role: a later turn has to carry what the earlier one sent.
        count = len(request.body.get("messages") or ()) if self.place.kind == "message" else 1
        for index in range(count):
            request = edits.text(request, self.place.kind, index, self.place.role, put)
        return request


@dataclass(frozen=True, slots=True)
class MediaLast:
    """Images stand behind the text of their message."""

    place: Place
    kind: str = "image"
    advice: str = "put images behind the text that is the same for all: every block from an image on is its own"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        return [self._moved(request) for request in requests]

    def _moved(self, request: Request) -> Request:
        messages = request.body.get("messages")
        if not isinstance(messages, list) or self.place.index >= len(messages):
            return request
        message = messages[self.place.index]
        content = message.get("content") if _role(message) == self.place.role else None
        if not isinstance(content, list) or (new := sorted(content, key=is_media)) == content:
            return request
        changed = {**message, "content": new}
        return edits.body(request, messages=[*messages[: self.place.index], changed, *messages[self.place.index + 1 :]])


@dataclass(frozen=True, slots=True)
class SortJson:
    """Objects are written with their keys in one order."""

    place: Place
    kind: str = "reordered JSON keys"
    advice: str = "write JSON with sorted keys, and tools in one order"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        return [self._sorted(request) for request in requests]

    def _sorted(self, request: Request) -> Request:
        if self.place.kind != "tools":
            return edits.text(request, self.place.kind, self.place.index, self.place.role, jsons.sorted_text)
        tools = request.body.get("tools")
        if not isinstance(tools, list) or json.dumps(new := jsons.sorted_tools(tools)) == json.dumps(tools):
            return request
        return edits.body(request, tools=new)


@dataclass(frozen=True, slots=True)
class Tidy:
    """White space is written in one way."""

    place: Place
    kind: str = "white space"
    advice: str = "write white space in one way: no blanks at line ends, one blank line, no trailing line end"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        place = self.place
        return [edits.text(request, place.kind, place.index, place.role, tidied) for request in requests]


def tidied(text: str) -> str:
    text = re.sub(r"[ \t\u00a0]+", " ", text.replace("\r\n", "\n"))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()


@dataclass(frozen=True, slots=True)
class DropSalt:
    """All share one name space of the cache."""

    kind: str = "salt"
    advice: str = "salts keep users apart by design; one salt for all who may share would let their blocks be shared"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        return [edits.without(r, "cache_salt") if r.body.get("cache_salt") else r for r in requests]


@dataclass(frozen=True, slots=True)
class OneTemplate:
    """Template arguments are the ones that most requests have."""

    kind: str = "template"
    advice: str = "render all requests with the same template and the same template arguments"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        for key in ("chat_template", "chat_template_kwargs"):
            values = Counter(json.dumps(request.body.get(key), sort_keys=True) for request in requests)
            most = values.most_common(1)[0][0]
            requests = [r if json.dumps(r.body.get(key), sort_keys=True) == most else _with(r, key, json.loads(most))
                        for r in requests]  # fmt: skip
        return list(requests)


def _with(request: Request, key: str, value: Any) -> Request:
    return edits.without(request, key) if value is None else edits.body(request, **{key: value})


@dataclass(frozen=True, slots=True)
class OneRole:
    """The same text has the same role."""

    role: str
    other: str
    kind: str = "template"

    @property
    def advice(self) -> str:
        return f"send the same text in the same role: {self.role}, not {self.other}"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        return [self._renamed(request) for request in requests]

    def _renamed(self, request: Request) -> Request:
        messages = request.body.get("messages")
        if not isinstance(messages, list) or not any(_role(message) == self.other for message in messages):
            return request
        new = [{**m, "role": self.role} if _role(m) == self.other else m for m in messages]
        return edits.body(request, messages=new)


@dataclass(frozen=True, slots=True)
class KeepHistory:
    """A later turn carries the earlier ones as they were sent."""

    kind: str = "edited or trimmed history"
    advice: str = "append to the history only; trim or summarise it seldom, and then in large steps"

    def apply(self, requests: Sequence[Request]) -> list[Request]:
        done: dict[str, Request] = {}
        for request, before in turns.linked(requests):
            done[request.id] = request if before is None else self._restored(done[before.id], request)
        return [done[request.id] for request in requests]

    def _restored(self, before: Request, request: Request) -> Request:
        said, messages = before.body.get("messages"), request.body.get("messages")
        if not isinstance(said, list) or not isinstance(messages, list) or messages[: len(said)] == said:
            return request
        new = newer(said, messages)
        return request if new is None else edits.body(request, messages=[*said, *new])


def newer(said: list[Any], messages: list[Any]) -> list[Any] | None:
    """The messages that came after `said`, whatever became of those before; None where that can't be told."""
    last = _plain(said[-1]) if said else None
    for index in range(len(messages) - 1, -1, -1):
        if _plain(messages[index]) == last:
            return messages[index + 1 :]
    shared = sum(_plain(a) == _plain(b) for a, b in zip(said, messages, strict=False))
    return messages[len(said) :] if len(messages) > len(said) and shared * 2 >= len(said) else None


def _plain(message: Any) -> tuple[str, str]:
    return (_role(message), text_of(message)) if isinstance(message, dict) else ("", repr(message))


def _role(message: Any) -> str:
    return str(message.get("role")) if isinstance(message, dict) else ""
