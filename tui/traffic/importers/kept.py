"""The requests that an import keeps: their bodies in a spool on disk, in memory only what orders and links them."""

import json
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from tui.traffic.importers.found import Found, Made


@dataclass(slots=True)
class Kept:
    """Numbered from 0 in the order of the file. What most rows lack is held sparsely, by number."""

    folder: Path | None  # None is where temporary files go
    lines: "array[int]" = field(default_factory=lambda: array("Q"))
    offsets: "array[int]" = field(default_factory=lambda: array("Q"))
    ids: dict[int, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # the source's id -> its first request
    sessions: dict[int, str] = field(default_factory=dict)
    parents: dict[int, str] = field(default_factory=dict)
    thinks: dict[int, float] = field(default_factory=dict)
    lasted: dict[int, float] = field(default_factory=dict)  # seconds from arrival to the end of the answer
    outputs: dict[int, int] = field(default_factory=dict)  # tokens of the answer
    answers: dict[int, bytes] = field(default_factory=dict)
    heard: dict[int, tuple[bytes, ...]] = field(default_factory=dict)  # answers that the prompt repeats
    made: int = 0
    twice: int = 0
    _file: IO[bytes] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, found: Found, links_by_answer: bool) -> None:
        """Raises ValueError (also UnicodeEncodeError) for a body that can't be sent."""
        rows = _rendered(found)
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix=".vtune-import.")
        number = len(self.lines)
        self.offsets.append(self._file.tell())
        self._file.write(rows)
        self.lines.append(found.line)
        self.made += found.made is not None
        self._remember(number, found)
        if links_by_answer:
            self._remember_answers(number, found)

    def row(self, number: int) -> tuple[Made | None, str, str]:
        """(what prompt to make, the row's text up to the prompt, the rest); the rest alone for a real prompt."""
        assert self._file is not None
        self._file.seek(self.offsets[number])
        kind = self._file.readline()
        if kind == b"\n":
            return None, "", self._file.readline()[:-1].decode()
        tokens, blocks, space, whole_only = json.loads(kind)
        made = Made(tokens, None if blocks is None else tuple(blocks), space, whole_only)
        return made, self._file.readline()[:-1].decode(), self._file.readline()[:-1].decode()

    def made_prompts(self) -> Iterator[tuple[int, Made]]:
        """(number, prompt) of every prompt that has to be made up."""
        if self.made:
            for number in range(len(self)):
                made = self.row(number)[0]
                if made is not None:
                    yield number, made

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _remember(self, number: int, found: Found) -> None:
        if found.id:
            if found.id in self.numbers:
                self.twice += 1
            else:
                self.numbers[found.id] = number
            self.ids[number] = found.id
        for table, value in (
            (self.sessions, found.session), (self.parents, found.parent), (self.thinks, found.think_s),
            (self.lasted, (found.reply or {}).get("e2e_s")), (self.outputs, found.output_tokens),
        ):  # fmt: skip
            if value is not None:
                table[number] = value  # type: ignore[index]

    def _remember_answers(self, number: int, found: Found) -> None:
        if found.answer:
            self.answers[number] = _digest(found.session, found.answer)
        messages = found.body.get("messages")
        said = (
            [m.get("content") for m in messages if m.get("role") == "assistant"] if isinstance(messages, list) else []
        )
        heard = tuple(_digest(found.session, text) for text in said if isinstance(text, str) and text)
        if heard:
            self.heard[number] = heard


def _digest(session: str | None, text: str) -> bytes:
    return blake2b(f"{session}\0{text.strip()}".encode(errors="replace"), digest_size=12).digest()


def _rendered(found: Found) -> bytes:
    row: dict[str, Any] = {"path": found.path}
    for key in ("group", "session", "reply"):
        if (value := getattr(found, key)) is not None:
            row[key] = value
    if found.redacted:
        row["redacted"] = list(found.redacted)
    row |= found.extra or {}
    row["source_line"] = found.line
    if found.made is None:
        row["body"] = found.body
        return b"\n" + (_json(row) + "\n").encode()
    made = found.made
    kind = _json([made.tokens, made.blocks, made.space, made.whole_only])
    if made.blocks is not None:
        row["hash_ids"] = list(made.blocks)
        if made.space:
            row["hash_space"] = made.space  # equal ids of two spaces are not equal tokens
    before = _json(row)[:-1] + ', "body": {"prompt": ['
    rest = _json(found.body)[1:]
    return (f"{kind}\n{before}\n" + "]" + ("}" if rest == "}" else f", {rest}") + "}\n").encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
