"""Whether two models speak the same tokens, from their tokenizers' own files.

vLLM compares only the sizes of the two vocabularies (0.32, vllm/config/speculative.py:1868): a draft of the same size
with other tokens starts, and proposes nonsense that is nearly never accepted.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tui.engine import model


@dataclass(frozen=True)
class Vocabulary:
    """What decides which ids a text becomes."""

    tokens: dict[str, int]
    merges: tuple[str, ...]  # in their order, which is part of the meaning; of a unigram model, its scores
    special: dict[str, int]


def differences(target: str, draft: str) -> tuple[str, ...] | None:
    """One sentence a difference, none where they are alike; None where a tokenizer is not on this machine."""
    ours, theirs = read(target), read(draft)
    if ours is None or theirs is None:
        return None
    found = (_tokens(ours, theirs), _merges(ours, theirs), _special(ours, theirs))
    return tuple(sentence for sentence in found if sentence)


def read(ref: str) -> Vocabulary | None:
    """The vocabulary of a model reference: a path, a bundled model, or a hub id in the local hub cache."""
    folder = _folder(ref)
    try:
        file = None if folder is None else folder / "tokenizer.json"
        return None if file is None else _read(str(file), file.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=8)
def _read(path: str, stamp: int) -> Vocabulary | None:
    """A file is megabytes of JSON: read once, until it changes."""
    try:
        whole = json.loads(Path(path).read_text(encoding="utf-8"))
        inner = whole["model"]
        tokens = inner["vocab"]
        special = {row["content"]: int(row["id"]) for row in whole.get("added_tokens") or () if row.get("special")}
        if isinstance(tokens, dict):
            merges = tuple(_merge(pair) for pair in inner.get("merges") or ())
        else:  # unigram: rows of [token, score]
            merges = tuple(f"{row[0]} {row[1]}" for row in tokens)
            tokens = {row[0]: number for number, row in enumerate(tokens)}
        return Vocabulary({str(key): int(value) for key, value in tokens.items()}, merges, special)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def _merge(pair: Any) -> str:
    """Written as "a b" or as ["a", "b"], by the version that wrote the file."""
    return pair if isinstance(pair, str) else " ".join(pair)


def _folder(ref: str) -> Path | None:
    place = Path(model.given(ref)).expanduser()
    if place.is_dir():
        return place
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub")) / f"models--{ref.replace('/', '--')}"
    try:
        return hub / "snapshots" / (hub / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None


def _tokens(ours: Vocabulary, theirs: Vocabulary) -> str | None:
    if ours.tokens == theirs.tokens:
        return None
    alike = sum(theirs.tokens.get(token) == number for token, number in ours.tokens.items())
    return (
        f"vocabulary: {alike:,} of {len(ours.tokens):,} tokens have the same id in the draft, which has "
        f"{len(theirs.tokens):,}"
    )


def _merges(ours: Vocabulary, theirs: Vocabulary) -> str | None:
    if _digest(ours.merges) == _digest(theirs.merges):
        return None
    first = next((n for n, (a, b) in enumerate(zip(ours.merges, theirs.merges, strict=False)) if a != b), None)
    sizes = f"{len(ours.merges):,} against {len(theirs.merges):,}"
    where = f"from merge {first + 1:,} on" if first is not None else sizes
    return f"merges: the same text is cut into other tokens ({where})"


def _digest(rows: tuple[str, ...]) -> bytes:
    return hashlib.blake2b("\n".join(rows).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _special(ours: Vocabulary, theirs: Vocabulary) -> str | None:
    names = [name for name in {**ours.special, **theirs.special} if ours.special.get(name) != theirs.special.get(name)]
    if not names:
        return None
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"special tokens: {shown} differ"


def warnings(target: str, draft: str | None) -> tuple[str, ...]:
    """What to tell before an engine starts with this draft; nothing where it is alike or not known."""
    if draft is None:
        return ()
    found = differences(target, draft)
    if not found:
        return ()
    return (f"the draft's tokenizer is not the model's, so its proposals will hardly fit: {'; '.join(found)}",)
