"""An experiment as the literature asks for it: one lever, its arms, and the requests that show what it does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui.traffic.recording import Request

Requests = Callable[[float], list[Request]]


@dataclass(frozen=True, slots=True)
class Load:
    """What one replay makes the engine do: prompt tokens to compute, and decode steps one after the other."""

    prefill_tokens: int
    decode_steps: float


@dataclass(frozen=True, slots=True)
class Control:
    """A replay beside the comparison, on an engine of the arm `value`, after all the others."""

    label: str
    value: str
    requests: Requests


@dataclass(frozen=True, slots=True)
class Study:
    """`arms` are the lever's values, baseline first; `few` are those for a slow engine, and so is `cut`.

    `requests` makes the requests of a replay for a scale (1: as the literature has it); `load` tells what they cost
    the engine of an arm. The scale cuts how many requests there are, never how long they are: a prompt and its answer
    have up to `longest` tokens.
    """

    name: str
    lever: str
    arms: tuple[str, ...]
    few: tuple[str, ...]
    cut: float
    pace: str
    fix_lengths: bool
    notes: str
    longest: int
    requests: Requests
    load: Callable[[str, Sequence[Request]], Load]
    control: Control | None = None


def count(full: int, scale: float, fewest: int) -> int:
    """How many of `full` requests a scale leaves, at least `fewest`."""
    return max(fewest, round(full * scale))


def chat(id: str, at: float, content: str, most: int, group: str | None = None, **body: object) -> Request:
    """A streamed chat request with one user message, greedy unless `body` says otherwise."""
    return Request(
        id, at, "/v1/chat/completions",
        {"messages": [{"role": "user", "content": content}], "max_tokens": most, "temperature": 0, "stream": True,
         **body},
        group=group,
    )  # fmt: skip
