"""Text from outside, made safe to show: no escapes, no control codes, no bidi tricks, one line.

The result is *text*: it must still be handed to `Content(...)` or `Text(...)`, never parsed as markup.
"""

import re

from rich.cells import cell_len

# CSI, OSC, DCS/PM/APC/SOS strings, and two-character escapes of ECMA-48; an unfinished one goes as well.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?|\x9b[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# What reorders or hides: bidi embeddings, overrides and isolates, zero-width marks, line and paragraph separators.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_PLACES = re.compile(r"[\s,;]+")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def plain(text: object, limit: int = 2_000) -> str:
    """`text` as one harmless line of at most `limit` characters, cut with an ellipsis."""
    line = str(text)
    if len(line) <= limit and line.isascii() and line.isprintable():
        return line  # nearly every line of a log: nothing in it can do harm
    # Cut first, so that a line of megabytes costs no more than a long one.
    line = line[: 4 * limit]
    line = _ESCAPES.sub("", line).replace("\t", "    ").replace("\r\n", " ").replace("\n", " ")
    line = _UNSEEN.sub(lambda match: REPLACEMENT if match[0] == "\x00" else "", line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shortened(text: str, cells: int) -> str:
    """`text` in at most `cells` cells, a wide character counted as two, cut after a word where there are several."""
    if cell_len(text) <= cells:
        return text
    room = max(0, cells - 1)
    cut = next((at for at in range(len(text), -1, -1) if cell_len(text[:at]) <= room), 0)
    # Not so short that nothing is left of it: then a word is cut after all.
    ends = [found.start() for found in _PLACES.finditer(text[: cut + 1]) if found.start() * 3 >= cut]
    return text[: ends[-1] if ends else cut] + "…"
