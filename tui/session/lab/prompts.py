"""Made-up text whose length in tokens can be told without a tokenizer."""

import random

WORDS_IN_A_SENTENCE = 15
TOKENS_IN_A_SENTENCE = WORDS_IN_A_SENTENCE + 1  # at least: short common words and a full stop are a token each

# A token each in the vocabularies of today's models, so a sentence has hardly more tokens than it must have.
_WORDS = (
    "the of and to in for on with as by at from it is was are be this that which or not but their has have had more "
    "one all time two first other new some when water system place line house number part day year stone light paper "
    "record letter market engine bridge window morning winter signal copper measure order team page table road field"
).split()


def prose(seed: str, tokens: int) -> str:
    """Sentences of common words, `tokens` or a few more of any byte-pair vocabulary; the same in every process."""
    draw = random.Random(seed)
    count = -(-tokens // TOKENS_IN_A_SENTENCE)
    sentences = [" ".join(draw.choice(_WORDS) for _ in range(WORDS_IN_A_SENTENCE)) for _ in range(count)]
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)
