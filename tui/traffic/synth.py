"""Made-up load as the literature makes it: N prompts of one length, with a shared prefix or with none."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic import recording
from tui.traffic.recording import Request

SHARED_PART = 0.9  # of the prompt, where the prefix is shared
_FEWEST_OWN = 24  # characters that every prompt has for itself
_WORDS = (
    "the of and to in for on with as by at from it is was are be this that which or an not but their has have had more "
    "one all time two first other new some when water system place line house number part day year river stone light "
    "paper record letter garden market engine bridge window morning winter signal copper harbour valley measure"
).split()


@dataclass(frozen=True, slots=True)
class Load:
    """`prompt_chars` counts the whole prompt; `concurrency` requests share each arrival time, one group a second."""

    requests: int
    prompt_chars: int
    max_tokens: int
    shared: bool
    concurrency: int = 1
    seed: int = 0


def write(load: Load, out: Path, force: bool = False) -> None:
    """Raises VtuneError where the load can't be made or `out` can't be written."""
    if load.prompt_chars < _FEWEST_OWN:
        raise VtuneError(
            f"a prompt of {load.prompt_chars} characters", f"at least {_FEWEST_OWN}: each has to be its own"
        )
    recording.write(out, _header(load), list(requests(load)), force)


def requests(load: Load) -> Iterator[Request]:
    """The same load gives the same requests, in every process."""
    beginning = ""
    if load.shared:
        size = min(int(load.prompt_chars * SHARED_PART), load.prompt_chars - _FEWEST_OWN)
        beginning = _text(random.Random(f"{load.seed} shared"), size)
    for number in range(load.requests):
        # The number comes first, so that prompts part at once where nothing is to be shared.
        own = f"{'' if not beginning else ' '}Request {number + 1}: "
        draw = random.Random(f"{load.seed} {number}")
        words = beginning + own + _text(draw, load.prompt_chars - len(beginning) - len(own))
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": words}],
            "max_tokens": load.max_tokens, "temperature": 0, "stream": True,
        }  # fmt: skip
        at = float(number // load.concurrency)
        yield Request(f"s{number + 1}", at, "/v1/chat/completions", body, group="shared" if load.shared else "unique")


def _text(draw: random.Random, size: int) -> str:
    """`size` characters of words; words, not letters, so that the tokens are those of text."""
    words: list[str] = []
    length = 0
    while length < size:
        words.append(draw.choice(_WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)[: max(0, size)].ljust(max(0, size), ".")


def _header(load: Load) -> dict[str, Any]:
    kind = f"{SHARED_PART:.0%} of each prompt is shared" if load.shared else "no prefix is shared"
    return {
        "name": f"synth-{'shared' if load.shared else 'unique'}-{load.requests}", "captured_at": None,
        "source": "vtune synth", "synthetic": True, "arrivals": "made up", "lacks": ["real text", "arrival times"],
        "rules_out": ["speculative decoding"], "concurrency": load.concurrency, "seed": load.seed,
        "notes": f"{load.requests} prompts of {load.prompt_chars} characters, {load.max_tokens} tokens at most; "
                 f"{kind}; {load.concurrency} at a time: replay with --pace closed:{load.concurrency}",
    }  # fmt: skip
