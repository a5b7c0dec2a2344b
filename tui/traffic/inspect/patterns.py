"""Text that changes from request to request: times, identifiers, numbers, names."""

import re
from dataclasses import dataclass

_WEEKDAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATE = (
    rf"(?:{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}|\d{{1,2}}(?:st|nd|rd|th|\.)?\s+{_MONTH}\.?,?\s+\d{{4}}"
    r"|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{4}[年년]\s?\d{1,2}[月월]\s?\d{1,2}[日일])"
)
_CLOCK = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp](?:\.[Mm]\.|[Mm]\b))?(?:\s?(?:Z\b|UTC\b|GMT\b|[+-]\d{2}:?\d{2}\b))?"
)
_COMPACT = r"\b20\d{6}T\d{4,6}Z?\b"
_EPOCH = r"\b1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?\b"
TIME = (
    rf"(?:\b{_WEEKDAY},?\s+)?\b{_DATE}(?:(?:T|,?\s+(?:at\s+)?){_CLOCK})?"
    rf"|\b{_CLOCK}(?:,?\s+(?:on\s+)?(?:{_WEEKDAY},?\s+)?{_DATE})?|{_COMPACT}|{_EPOCH}"
    rf"|\b{_WEEKDAY}\b"
)
# A UUID, a hash, a random word of letters and digits, or a name with one: sess_9f2c1a7b33.
UUID = (
    r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b|\b(?=\w*\d)[0-9a-fA-F]{16,}\b"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b|\b(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{10,}\b"
    r"|\b[A-Za-z]{2,12}[_-](?=[A-Za-z0-9_-]*\d)[A-Za-z0-9]{8,}\b"
)
NUMBER = r"[+-]?\b\d[\d.,]*(?<![.,])|\d+"
WORD = r"[^\s,;:/\\\"'()<>\[\]{}|=]+"
KINDS = {"time": TIME, "uuid": UUID, "number": NUMBER}
_RULES = {kind: re.compile(rule) for kind, rule in KINDS.items()}
_WORD = re.compile(WORD)
_GAP = re.compile(r"[ _-]?")
WORDS = 4  # a name has at most
RESYNC = 12  # characters that must be the same behind a varying part
RESYNC_NAME = 6


@dataclass(frozen=True, slots=True)
class Span:
    """A varying part: `start` to `end` in one text, to `other_end` in the other."""

    kind: str
    start: int
    end: int
    other_end: int
    behind: int  # characters that are the same behind it, up to 20


def varying(one: str, other: str, place: int) -> Span | None:
    """What differs between two texts that part at `place`, where they meet again right behind it."""
    for kind, rule in _RULES.items():
        a, b = _covering(rule, one, place), _covering(rule, other, place)
        if a and b and a[0] == b[0] and _meet(one[a[1] :], other[b[1] :]):
            return Span(kind, a[0], a[1], b[1], _same(one[a[1] :], other[b[1] :]))
    return _name(one, other, place)


def _covering(rule: re.Pattern[str], text: str, place: int) -> tuple[int, int] | None:
    line = text.rfind("\n", 0, place) + 1
    for match in rule.finditer(text, max(line, place - 120), place + 160):
        if match.start() > place:
            return None
        if match.end() >= place and match.end() > match.start():
            return match.start(), match.end()
    return None


def _same(one: str, other: str, most: int = 20) -> int:
    pairs = zip(one[:most], other[:most], strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y), min(len(one), len(other), most))


def _meet(one: str, other: str, resync: int = RESYNC) -> bool:
    """Whether two texts go on alike: for a while, to the end of both, or up to a line's end at least."""
    same = _same(one, other)
    return same >= resync or one == other or "\n" in one[:same]


def _name(one: str, other: str, place: int) -> Span | None:
    start = place
    while start > 0 and _WORD.match(one[start - 1]):
        start -= 1
    ends, other_ends = _word_ends(one, start), _word_ends(other, start)
    for total in range(2, 2 * WORDS + 1):
        for words in range(max(1, total - WORDS), min(WORDS, total - 1) + 1):
            if words <= len(ends) and total - words <= len(other_ends):
                end, other_end = ends[words - 1], other_ends[total - words - 1]
                named = re.search("[^\\W\\d_]", one[start:end]) and re.search("[^\\W\\d_]", other[start:other_end])
                if named and _meet(one[end:], other[other_end:], RESYNC_NAME):
                    return Span("name", start, end, other_end, _same(one[end:], other[other_end:]))
    return None


def _word_ends(text: str, start: int) -> list[int]:
    ends, place = [], start
    while len(ends) < WORDS and (match := _WORD.match(text, place)):
        ends.append(match.end())
        gap = _GAP.match(text, match.end())
        place = gap.end() if gap else match.end()
    return ends
