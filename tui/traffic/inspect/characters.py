"""Tokens where no tokenizer is at hand: four characters each. They say where prompts part, and lengths only roughly."""

import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache

from tui.traffic.inspect.parts import parts
from tui.traffic.recording import Request

PER_TOKEN = 4  # characters, near what tokenizers make of English


def tokens(requests: Sequence[Request]) -> list[Sequence[int]]:
    """Of each request; ids stand for the characters, so that equal text gives equal ids."""
    return [_ids(request) for request in requests]


@lru_cache(maxsize=256)
def of_text(text: str) -> "array[int]":
    """One id for four characters, whatever stands around them."""
    if text.isascii():
        words = array("I", text.encode() + b"\0" * (-len(text) % PER_TOKEN))
        if sys.byteorder == "big":
            words.byteswap()
        return array("q", words)
    # A chunk has at most 16 bytes; the prime keeps its number in 64 bits.
    chunks = (text[start : start + PER_TOKEN] for start in range(0, len(text), PER_TOKEN))
    return array("q", (int.from_bytes(c.encode(errors="surrogatepass"), "little") % (2**61 - 1) for c in chunks))


def _ids(request: Request) -> Sequence[int]:
    prompt = request.body.get("prompt")
    if isinstance(prompt, list) and all(isinstance(id, int) for id in prompt):
        return prompt
    found = array("q")
    for part in parts(request.body):
        # Each part begins a token of its own, as the special tokens of a template make it.
        found += of_text(f"<{part.kind} {part.role}>")
        found += of_text(part.text)
    if request.body.get("messages") and request.body.get("add_generation_prompt", True):
        found += of_text("<message assistant>")
    return found
