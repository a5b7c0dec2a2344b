"""Where two prompts part, and what kind of difference it is."""

import json
from dataclasses import dataclass

from tui.traffic.inspect import jsons, mends, passages, patterns, turns
from tui.traffic.inspect.mends import Mend, Place
from tui.traffic.inspect.parts import MEDIA, Part, parts
from tui.traffic.recording import Request

GAIN = 16  # characters that have to be alike behind it, for a difference to be one of form
_QUOTE = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """`quote` and `other` are what stands at the place in either request; `where` is for a person."""

    mend: Mend
    quote: str
    other: str
    where: str


def shared_length(one: Request, other: Request) -> int:
    """Characters that the two have in common from the start, 0 under two salts."""
    if turns.salt(one) != turns.salt(other):
        return 0
    total = 0
    for a, b in zip(parts(one.body), parts(other.body), strict=False):
        if (a.kind, a.role) != (b.kind, b.role):
            break
        total += (same := common(a.text, b.text))
        if same < len(a.text) or same < len(b.text):
            break
    return total


def common(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def find(one: Request, other: Request) -> Finding | None:
    """What keeps `other`, the later one, from reusing more of `one`; None where nothing can be done."""
    if turns.salt(one) != turns.salt(other):
        return Finding(mends.DropSalt(), turns.salt(other) or "", turns.salt(one) or "", "cache_salt, the whole prompt")
    if turns.follows(one, other) and (found := _history(one, other)):
        return found
    for a, b in zip(parts(one.body), parts(other.body), strict=False):
        if a == b:
            continue
        if (a.kind, a.index) != (b.kind, b.index) or "template" in (a.kind, b.kind):
            return _template(a, b)
        if a.role != b.role:
            return _role(a, b)
        return _text(a, b)
    return None


def _template(a: Part, b: Part) -> Finding | None:
    if "template" not in (a.kind, b.kind):
        return None
    return Finding(mends.OneTemplate(), quoted(b.text, 0), quoted(a.text, 0), "template arguments")


def _role(a: Part, b: Part) -> Finding | None:
    if a.text != b.text:
        return None
    first, second = sorted((a.role, b.role), key=lambda role: (role != "system", role))
    return Finding(mends.OneRole(first, second), b.role, a.role, f"message {b.index}, its role")


def _text(a: Part, b: Part) -> Finding | None:
    at, place = common(a.text, b.text), Place.of(b)
    if at == min(len(a.text), len(b.text)) and not (a.text[at:] + b.text[at:]).isspace():
        return None
    if a.kind == "message" and (start := _media(a.text, b.text, at)) is not None:
        return _finding(mends.MediaLast(place), a, b, start)
    if _json(a, b, at):
        return _finding(mends.SortJson(place), a, b, at)
    if a.kind == "tools":
        return None
    if _white(a.text, b.text, at):
        return _finding(mends.Tidy(place), a, b, at)
    if passages.reordered(a.text, b.text):
        line = a.text.rfind("\n", 0, at) + 1
        return _finding(mends.SortPassages(place), a, b, line if a.text[:line] == b.text[:line] else at)
    span = patterns.varying(b.text, a.text, at)
    if span is None:
        return None
    quote, was = b.text[span.start : span.end], a.text[span.start : span.other_end]
    return Finding(
        mends.move(span.kind, place, b.text, span), shown(quote), shown(was), _where(place, b.text, span.start)
    )


def _finding(mend: Mend, a: Part, b: Part, at: int) -> Finding:
    return Finding(mend, quoted(b.text, at), quoted(a.text, at), _where(Place.of(b), b.text, at))


def _media(a: str, b: str, at: int) -> int | None:
    """Where the mark of an image begins that `at` lies in; None where it lies in other text."""
    marks = [match for match in MEDIA.finditer(b) if match.start() <= at < match.end()]
    there = marks and MEDIA.match(a, marks[0].start())
    return marks[0].start() if there else None


def _where(place: Place, text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    behind = text[max(line, at - 30) : at].strip()
    return f"{place.words()}, character {at}" + (f", behind {shown(behind)!r}" if behind else "")


def _json(a: Part, b: Part, at: int) -> bool:
    if a.kind == "tools":
        one, other = json.loads(a.text), json.loads(b.text)
        if not isinstance(one, list) or not isinstance(other, list):
            return False
        return json.dumps(jsons.sorted_tools(one)) == json.dumps(jsons.sorted_tools(other))
    if "{" not in a.text:
        return False
    one, other = jsons.sorted_text(a.text), jsons.sorted_text(b.text)
    return (one, other) != (a.text, b.text) and common(one, other) > at + GAIN


def _white(a: str, b: str, at: int) -> bool:
    near = a[max(0, at - 1) : at + 1] + b[at : at + 1]
    if not any(char.isspace() for char in near):
        return False
    one, other = mends.tidied(a), mends.tidied(b)
    return one == other or common(one, other) > len(mends.tidied(a[:at])) + GAIN


def _history(one: Request, other: Request) -> Finding | None:
    said, messages = one.body.get("messages"), other.body.get("messages")
    if not isinstance(said, list) or not isinstance(messages, list) or messages[: len(said)] == said:
        return None
    a, b = ([part for part in parts(request.body) if part.kind == "message"] for request in (one, other))
    index = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    first_of_system = index == 0 and a and a[0].role == "system"
    if first_of_system or index >= len(a) or mends.newer(said, messages) is None:
        return None
    at = common(a[index].text, b[index].text) if index < len(b) else 0
    if index < len(b):
        return _finding(mends.KeepHistory(), a[index], b[index], at)
    return Finding(mends.KeepHistory(), "", quoted(a[index].text, 0), f"message {index}, which is gone")


def quoted(text: str, at: int) -> str:
    """What stands at `at`, from the beginning of its word."""
    start = at
    while start > 0 and at - start < 20 and not text[start - 1].isspace():
        start -= 1
    return shown(text[start : start + _QUOTE])


def shown(text: str) -> str:
    """At most 80 characters, safe to print: what is no plain character is written as its escape."""
    cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:_QUOTE])
    return cut if len(cut) <= _QUOTE and len(text) <= _QUOTE else cut[: _QUOTE - 1] + "…"
