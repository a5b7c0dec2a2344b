"""A question script: who asks what, and how long people wait in between.

The waits are drawn once from the script's seed, so that a script always gives the same
plan: gaps between the starts of conversations are exponential, thinking times log-normal.
"""

import math
import random
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .conversation import Settings


@dataclass(frozen=True)
class Turn:
    """A question; `think_s` is the time between the answer before it and this question."""

    id: str
    question: str
    think_s: float | None  # None for the first question


@dataclass(frozen=True)
class Planned:
    """A conversation of one user, starting `start_s` seconds after the first one."""

    group: str | None
    start_s: float
    settings: Settings
    documents: list[str] | None
    turns: list[Turn]


@dataclass(frozen=True)
class Script:
    name: str
    notes: str
    conversations: list[Planned]


def load(file: Path, prompts: Path, model: str) -> Script:
    """Read a script in TOML; `prompts` is the folder with its instructions as ``NAME.md``."""
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    chance = random.Random(data["seed"])
    start, conversations = 0.0, []
    for number, row in enumerate(data["conversation"]):
        if number:
            start += _gap(chance, data["gap_s"])
        conversations.append(_planned(row, data, round(start, 2), chance, prompts, model))
    ids = [turn.id for conversation in conversations for turn in conversation.turns]
    if len(set(ids)) != len(ids):
        raise SystemExit(f"{file}: a user occurs twice")
    return Script(file.stem, data["notes"].strip(), conversations)


def _planned(
    row: dict[str, Any], data: dict[str, Any], start: float, chance: random.Random, prompts: Path, model: str
) -> Planned:
    values = data.get("defaults", {}) | data.get("group", {}).get(row.get("group"), {}) | row
    instructions = (prompts / f"{values['instructions']}.md").read_text(encoding="utf-8").strip()
    settings = Settings(model, instructions)
    names = ("passages", "more_passages", "max_tokens", "temperature", "seed")
    settings = replace(settings, **{name: values[name] for name in names if name in values})
    turns = [
        Turn(f"{row['user']}-{n}", question.strip(), _think(chance, data["think_s"]) if n > 1 else None)
        for n, question in enumerate(row["questions"], 1)
    ]
    return Planned(row.get("group"), start, settings, row.get("documents"), turns)


def _gap(chance: random.Random, mean: float) -> float:
    return min(max(chance.expovariate(1 / mean), 0.1 * mean), 3 * mean)


def _think(chance: random.Random, median: float) -> float:
    return round(chance.lognormvariate(math.log(median), 0.4), 2)
