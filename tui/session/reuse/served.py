"""The requests of a run as its prefix cache met them, in the order in which they were sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui.traffic.inspect import turns
from tui.traffic.inspect.rows import Row, row
from tui.traffic.outcome import Outcome
from tui.traffic.recording import Request

Tokens = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Served:
    """One answered request. Times are seconds from the start of the run, blocks are whole KV blocks.

    `ready_s`: when its prompt's blocks were there for others; `end_s`: until when it held them.
    """

    place: int  # in the recording
    row: Row
    sent_s: float
    ready_s: float
    end_s: float
    hits: int  # leading blocks that the engine said it found
    taken: int  # blocks that it took from the pool beside those

    @property
    def id(self) -> str:
        return self.row.id


def served(
    requests: Sequence[Request], tokens: Tokens, outcomes: Sequence[Outcome], block_size: int
) -> Iterator[Served]:
    """Those whose prompt is known to be the one that was sent: the engine counted as many tokens."""
    prompts = {prompt.id: (place, prompt) for place, prompt in enumerate(turns.prompts(requests, tokens))}
    for outcome in sorted(outcomes, key=lambda o: (o.sent_s or 0.0, o.id)):
        if outcome.id not in prompts or not _told(outcome):
            continue
        place, prompt = prompts[outcome.id]
        if outcome.prompt_tokens != len(prompt.tokens):
            continue
        hits = (outcome.cached_tokens or 0) // block_size
        held = len(prompt.tokens) + max(0, (outcome.output_tokens or 1) - 1)
        yield Served(
            place, row(prompt, block_size), outcome.sent_s or 0.0, outcome.due_s + (outcome.ttft_s or 0.0),
            outcome.due_s + (outcome.e2e_s or outcome.ttft_s or 0.0), hits, -(-held // block_size) - hits,
        )  # fmt: skip


def _told(outcome: Outcome) -> bool:
    return (
        outcome.status == "ok"
        and outcome.cached_tokens is not None
        and outcome.sent_s is not None
        and outcome.ttft_s is not None
    )
