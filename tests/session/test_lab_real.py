"""The three experiments on the real engine, at the scale that a CPU gets by itself."""

import json

import pytest
import real

from tui.cli import main

pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module", autouse=True)
def demo():
    real.demo()


def lab(study: str, tmp_path, *words: str) -> tuple[dict, str]:
    out = tmp_path / study
    assert main(["lab", study, "--session", str(tmp_path / "session"), "--out", str(out), *words]) == 0
    return json.loads((out / "result.json").read_text()), (out / "report.md").read_text()


def test_prefix(tmp_path):
    found, text = lab("prefix", tmp_path)
    told = found["lab"]
    assert told["prompt"]["prompt_tokens"][0] >= 4096 and told["prompt"]["cached_tokens"] >= 4096
    assert told["warm"]["holds"] and told["warm"]["times_lower"] >= 10, told
    assert told["cold"]["holds"], told
    assert told["control"]["holds"] and not told["control"]["hits"], told
    assert "At least 10 times lower: yes" in text and "within the noise floor" in text and "had no hits" in text
    (checked,) = found["output_check"]["arms"]
    assert checked["word"] in ("equal", "no change seen", "near ties")  # caching changes no answer


def test_chunked(tmp_path):
    found, text = lab("chunked", tmp_path)
    told = found["lab"]
    assert found["complete"] and told["chosen"] and f"x{told['longer']}" in told["sentences"][0]
    rows = {row["value"]: row for row in told["table"]}
    chosen = next(row for row in told["table"] if row["arm"] == told["chosen"])
    allowed = [row for row in told["table"] if row["long_ratio"] <= 1.2]
    assert chosen["short_ttft_p95_s"] == min(row["short_ttft_p95_s"] for row in allowed)
    assert any(row["pareto"] for row in told["table"]) and rows["off"]["short_n"] >= 40
    assert "Pareto set" in text


def test_speculative(tmp_path):
    found, text = lab("speculative", tmp_path)
    ngram, draft = found["lab"]["table"]
    rows = {row["group"]: row for row in ngram["table"]}
    assert rows["extract t=0"]["acceptance"] > 0.4 and rows["extract t=0"]["advice"] == "keep it"
    assert rows["write t=1"]["acceptance"] is None or rows["write t=1"]["acceptance"] < 0.3
    assert rows["write t=1"]["advice"] != "keep it"
    assert len(ngram["per_position"]) == 4 and len(draft["per_position"]) == 3
    advice = {row["group"]: row["advice"] for row in draft["table"]}
    assert advice["all"] == "turn it off" and "keep it" not in advice.values() and "turn it off" in draft["advice"]
    assert any("warning on" in words and "performance loss" in words for words in found["caveats"])
    assert "performance loss" in text
