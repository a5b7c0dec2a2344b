"""How much of the answers n-gram speculation could have proposed: they go on as their prompt, or they themselves, did.

Words stand for tokens, and the look-up is that of vLLM's n-gram proposer in kind: the longest of the last four to two
words that was there before, and the words that followed it last time.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

PROPOSED = 4
LONGEST, SHORTEST = 4, 2
MOST_WORDS = 200_000  # of prompts and answers together; above, the rest is left out

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(slots=True)
class Copied:
    answers: int = 0
    words: int = 0
    steps: int = 0
    accepted: int = 0

    @property
    def share(self) -> float | None:
        """Answer words that would have come as accepted proposals; None without answers."""
        return self.accepted / self.words if self.words else None

    def to_json(self) -> dict[str, Any]:
        return {"answers": self.answers, "words": self.words, "share": self.share}


def copied(pairs: Iterable[tuple[str, str]]) -> Copied:
    """`pairs` of prompt and answer."""
    total, left = Copied(), MOST_WORDS
    for prompt, answer in pairs:
        known, said = _WORD.findall(prompt), _WORD.findall(answer)
        left -= len(known) + len(said)
        if left < 0:
            break
        if said:
            _decode(total, known, said)
    return total


def _decode(total: Copied, known: list[str], said: list[str]) -> None:
    ends: dict[tuple[str, ...], int] = {}  # n-gram -> where it last ended
    words = list(known)
    for end in range(SHORTEST, len(words)):  # not the last: nothing follows it yet
        _learn(ends, words, end)
    total.answers += 1
    total.words += len(said)
    at = 0
    while at < len(said):
        proposed = _proposal(ends, words)
        accepted = 0
        while accepted < min(len(proposed), len(said) - at) and proposed[accepted] == said[at + accepted]:
            accepted += 1
        for word in said[at : at + accepted + 1]:
            _learn(ends, words, len(words))
            words.append(word)
        total.steps += 1
        total.accepted += min(accepted, len(said) - at)
        at += accepted + 1


def _learn(ends: dict[tuple[str, ...], int], words: list[str], end: int) -> None:
    for length in range(SHORTEST, min(LONGEST, end) + 1):
        ends[tuple(words[end - length : end])] = end


def _proposal(ends: dict[tuple[str, ...], int], words: list[str]) -> list[str]:
    for length in range(min(LONGEST, len(words)), SHORTEST - 1, -1):
        end = ends.get(tuple(words[-length:]))
        if end is not None:
            return words[end : end + PROPOSED]
    return []
