"""How much an answer repeats itself."""

import re

WORDS = 4  # in a row
_WORD = re.compile(r"\w+|[^\w\s]+")


def repetition(text: str | None) -> float | None:
    """Share of an answer's runs of four words that it has had before, 0..1; None under eight words.

    Text that loops comes near 1; the measure is that of sequence repetition (seq-rep-4) in Welleck et al.,
    Neural Text Generation with Unlikelihood Training, 2019.
    """
    words = _WORD.findall(text or "")
    if len(words) < 2 * WORDS:
        return None
    runs = [tuple(words[i : i + WORDS]) for i in range(len(words) - WORDS + 1)]
    return 1 - len(set(runs)) / len(runs)
