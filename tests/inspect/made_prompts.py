"""Requests that are alike but for one thing, in text of known length."""

from tui.traffic.inspect import characters, doctor
from tui.traffic.recording import Request

BLOCK = 16  # tokens, of 4 characters each
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll", "lagoon")
# With its role (4 tokens), a system message of this has 160 tokens: 10 blocks.
STABLE = "".join(f"{n:02d} Cite the passage that you answer from, or say so. " for n in range(20))[:624]
SHARED = 160
TAIL = 4 + 5  # tokens of the user's and the assistant's marks


def chat(id, system, user, after=None, group=None, **body):
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return Request(id, float(len(id)), "/v1/chat/completions", {"messages": messages, **body}, group, after)


def question(number):
    """32 characters, 8 tokens, from the first on its own."""
    return f"{WORDS[number % 12]} {number:03d} which one?".ljust(32, ".")


def counted(block=BLOCK):
    return doctor.Counted(characters.tokens, block, characters.PER_TOKEN)


def look(requests, block=BLOCK):
    return doctor.examine(requests, counted(block))


def ceiling(requests, block=BLOCK):
    return counted(block).ceiling(requests)


def kinds(diagnosis):
    return [one.kind for one in diagnosis.breaks]
