"""Markdown that text from outside can't break out of: not a table, not a fence, not a line."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from urllib.parse import quote

# Underscores within a word mark nothing up.
_SPECIAL = re.compile(r"[\\`*\[\]~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LONGEST = 500


def visible(text: object) -> str:
    """One line: without line ends, control sequences and bidirectional overrides."""
    return "".join(_shown(c) for c in str(text)).strip()


def one_line(text: object) -> str:
    """`visible`, at most 500 characters."""
    line = visible(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _shown(char: str) -> str:
    if char in "\n\r\t" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
        return " "
    return char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"


def escaped(text: object) -> str:
    """Outside text as plain text: no markup, no link, no new table cell."""
    line = _SPECIAL.sub(r"\\\g<0>", one_line(text))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")
    # A bare address would become a link, a name after @ a mention.
    line = line.replace("://", "&#58;//").replace("www.", "www&#46;")
    return re.sub(r"@(?=\w)", "&#64;", line)


def code(text: object) -> str:
    """Outside text as a code span, also within a table."""
    line = one_line(text)
    if not line:
        return "(empty)"
    if "|" in line:
        return escaped(line)  # no code span within a table can hold a pipe after a backslash
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fence(text: str, language: str = "") -> str:
    """A fenced block, its fence longer than any run of backticks in the text; control characters are replaced."""
    body = "\n".join("".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
                     for line in text.replace("\r\n", "\n").split("\n"))  # fmt: skip
    ticks = "`" * max(3, _longest_run(body) + 1)
    return f"{ticks}{language}\n{body.rstrip()}\n{ticks}"


def picture(words: str, name: str) -> str:
    """An image beside the document, with its alternative text."""
    return f"![{escaped(visible(words)[:_LONGEST])}]({quote(name)})"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are aligned left, the others right. Cells must be Markdown already."""
    marks = [":--" if i < left else "--:" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))


def bullets(lines: Iterable[str | None]) -> str:
    return "\n".join(f"- {line}" for line in lines if line)
