"""Retrieved passages inside a message: taken apart, and put into a fixed order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_LABEL = re.compile(
    r"^[ \t]*(?:\[(?:\w+ )?\d+\]|\(\d+\)|\d+[.)](?= )"
    r"|#{0,4}[ \t]*(?:Passage|Document|Doc|Source|Context|Chunk|Excerpt|Result)[ \t]*\[?#?\d+\]?[:.)]?"
    r"|<(?:doc|document|passage|context|chunk|source)\b[^>\n]*>|\[[\w./-]+\](?=[ \t]*$)|#{1,4}[ \t]+\S[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_AFTER = re.compile(
    r"^[ \t]*(?:(?:Q|Question|Query|Answer|User|Task|Frage)\b[^\n]*[:?]|[-=*]{3,}[ \t]*$|</?(?:docs|documents|passages"
    r"|context|sources)>)",
    re.MULTILINE | re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
FEWEST = 2


@dataclass(frozen=True, slots=True)
class Split:
    """`before` + passages + `after` is the text; a passage is (label, body)."""

    before: str
    passages: tuple[tuple[str, str], ...]
    after: str
    numbered: bool  # the labels count the places 1, 2, 3 and say nothing about the passage

    def keys(self, numbered: bool) -> list[str]:
        """What each passage is, whatever its place; labels count as part of it unless they are `numbered`."""
        return [body.strip() if numbered else f"{label}{body}".strip() for label, body in self.passages]

    def ordered(self, rank: Mapping[str, int], numbered: bool) -> str:
        """The text with its passages by `rank`; labels that count places stay where they are."""
        keys = self.keys(numbered)
        order = sorted(range(len(keys)), key=lambda n: (rank.get(keys[n], len(rank)), keys[n]))
        ends = [_end(body) for _, body in self.passages]
        pieces = []
        for place, number in enumerate(order):
            label = self.passages[place if numbered else number][0]
            body = self.passages[number][1]
            pieces.append(label + body[: len(body) - len(_end(body))] + ends[place])
        return self.before + "".join(pieces) + self.after


@lru_cache(maxsize=1024)
def split(text: str) -> Split | None:
    """The passages of a text; None where there are none to be told apart."""
    return _labelled(text) or _paragraphs(text)


def reordered(one: str, other: str) -> bool:
    """Whether two texts that begin alike have passages in common that stand at other places."""
    a, b = split(one), split(other)
    if a is None or b is None or a.before != b.before:
        return False
    numbered = a.numbered and b.numbered
    first, second = a.keys(numbered), b.keys(numbered)
    common = set(first) & set(second)
    if len(common) < FEWEST and not (common and len(first) == len(second) == FEWEST):
        return False
    return any(first.index(key) != second.index(key) for key in common)


def _labelled(text: str) -> Split | None:
    marks = list(_LABEL.finditer(text))
    if len(marks) < FEWEST:
        return None
    starts = [mark.start() for mark in marks]
    last = _last_end(text, marks)
    ends = [*starts[1:], last]
    passages = tuple(
        (text[mark.start() : mark.end()], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)
    )
    return Split(text[: starts[0]], passages, text[last:], _counts(mark[0] for mark in marks))


def _last_end(text: str, marks: Sequence[re.Match[str]]) -> int:
    """Where the last passage ends: before what looks like the question, or at a blank line if no other has one."""
    start = marks[-1].end()
    if found := _AFTER.search(text, start):
        return found.start()
    inside = any(
        "\n\n" in text[a.end() : b.start()].strip() for a, b in zip(marks, marks[1:], strict=False)
    )  # fmt: skip
    blank = text.find("\n\n", start)
    return blank + 2 if blank >= 0 and not inside else len(text)


def _paragraphs(text: str) -> Split | None:
    """Long paragraphs between blank lines; the last is taken for the question."""
    pieces = re.split(r"(?<=\n\n)", text)
    if len(pieces) < FEWEST + 1 or sum(len(piece) > 80 for piece in pieces) < FEWEST:
        return None
    first = 0 if len(pieces[0]) > 80 else 1
    middle = pieces[first:-1]
    if len(middle) < FEWEST:
        return None
    return Split("".join(pieces[:first]), tuple(("", piece) for piece in middle), pieces[-1], False)


def _counts(labels: object) -> bool:
    numbers = [_NUMBER.findall(str(label)) for label in labels]  # type: ignore[attr-defined]
    if not all(found for found in numbers):
        return False
    places = [int(found[-1]) for found in numbers]
    return places in (list(range(1, len(places) + 1)), list(range(len(places))))


def _end(body: str) -> str:
    """The white space that ends a passage: it belongs to the place."""
    return body[len(body.rstrip()) :]
