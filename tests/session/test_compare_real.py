"""Comparisons on the real engine: what is there is found, and what is not there is not claimed.

VTUNE_COMPARISONS=2 makes fewer of the ten of equal arms. On two quiet cores ten take about twelve minutes: every
engine is forked from one that has imported vLLM, prompts are short, and so is the warm-up (the token budget's length).
"""

import json
import os
from pathlib import Path

import pytest
import real

from tui.cli import main

pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(5400)]

COMPARISONS = int(os.environ.get("VTUNE_COMPARISONS", "10"))
REQUESTS = 6
PASSAGE = "The harbour office is open from nine to five and the keys lie with the night porter. "


@pytest.fixture(scope="module", autouse=True)
def demo():
    real.demo()


@pytest.fixture
def short(tmp_path) -> Path:
    """Six prompts of about 150 tokens that share most of it, 16 tokens to each answer."""
    head = {"schema": "vtune.recording/1", "name": "short", "captured_at": "2026-01-01", "source": "a test"}
    rows: list[dict] = [head]
    for n in range(REQUESTS):
        messages = [{"role": "user", "content": f"{7 * PASSAGE} Question {n}: when is the office open?"}]
        body = {"model": "any", "messages": messages, "max_tokens": 16, "min_tokens": 16, "temperature": 0}
        rows.append({"id": f"r{n}", "at": n / 10, "path": "/v1/chat/completions", "body": body})
    path = tmp_path / "short.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def compared(tmp_path: Path, number: int, recording: str, vary: str, *more: str) -> dict:
    out, session = tmp_path / f"{number}.json", tmp_path / f"session-{number}"
    asked = ["--profile", "demo", "--pace", "closed:1", "--start", "warm", "--vary", vary, "--seed", str(number)]
    assert main(["compare", recording, *asked, "--session", str(session), "--json", str(out), *more]) == 0
    return json.loads(out.read_text())


def claims(found: dict) -> list[dict]:
    return [row for row in found["verdicts"] if row["word"] in ("faster", "slower")]


def test_prefix_caching_pays_and_says_why(tmp_path):
    found = compared(tmp_path, 0, "rag-handbook", "prefix-caching=off,on", "--limit", "6")
    (warm,) = [r for r in found["verdicts"] if (r["metric"], r["split"]) == ("ttft_s.p50", "all")]
    assert warm["word"] == "faster" and "hit rate from off to" in warm["why"] and not warm["flags"]
    assert not [row for row in claims(found) if row["metric"] == "tpot_s.p50" and "suspicious" not in row["flags"]]


def test_of_ten_comparisons_of_equal_arms_at_most_one_claims_a_difference(tmp_path, short):
    """64 or 65 places are the same to six requests that come one after the other."""
    found = []
    for number in range(1, COMPARISONS + 1):
        one = compared(tmp_path, number, str(short), "max-num-seqs=64,65", "--set", "chunked-prefill=512", "--no-check")
        assert one["complete"] and [arm["start"] for arm in one["arms"]] == [["warm"], ["warm"]]
        found.append(claims(one))
        print(f"{number}: noise floor of TTFT p50 {one['noise_floor']['ttft_s.p50']}, {len(found[-1])} claims")
    assert sum(bool(rows) for rows in found) <= 1, found
