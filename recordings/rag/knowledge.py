"""The passages that a question may be answered from."""

from dataclasses import dataclass
from pathlib import Path

import bm25s


@dataclass(frozen=True)
class Passage:
    """One short document: its file name without ending, and its text."""

    name: str
    text: str


class Knowledge:
    """A folder of short Markdown files, searched with BM25. A file is a passage."""

    def __init__(self, folder: Path) -> None:
        files = sorted(folder.glob("*.md"))
        if not files:
            raise SystemExit(f"no .md files in {folder}")
        self._passages = [Passage(file.stem, file.read_text(encoding="utf-8").strip()) for file in files]
        self._by_name = {passage.name: passage for passage in self._passages}
        self._index = bm25s.BM25()
        self._index.index(_tokens([passage.text for passage in self._passages]), show_progress=False)

    def search(self, query: str, count: int) -> list[Passage]:
        """The `count` passages that match `query` best, in order of their names.

        The order is not that of the score: two questions that find the same passages then have
        the same bytes up to the question, which is what prefix caching can reuse.
        """
        if count == 0:
            return []
        found, _ = self._index.retrieve(_tokens([query]), k=min(count, len(self._passages)), show_progress=False)
        return sorted((self._passages[i] for i in found[0]), key=lambda passage: passage.name)

    def named(self, names: list[str]) -> list[Passage]:
        """The passages with these names, in the order given."""
        return [self._by_name[name] for name in names]


def _tokens(texts: list[str]) -> list[list[str]]:
    return bm25s.tokenize(texts, stopwords="english_plus", return_ids=False, show_progress=False)
