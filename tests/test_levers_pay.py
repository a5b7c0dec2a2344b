"""What each lever does on the shipped recordings, on the real engine: minutes each, so only in ``make test-all``."""

import json
import statistics
from pathlib import Path

import pytest

from tui.cli import main
from tui.session import folder, report
from tui.traffic.outcome import Outcome
from tui.traffic.replay import read_outcomes

pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(1800)]


def replay(recording: str, out: Path, *settings: str) -> tuple[dict, dict[str, Outcome], str]:
    """One headless run at closed:1: the result, the requests by id, and the report."""
    words = [word for setting in settings for word in ("--set", setting)]
    assert main(["replay", recording, "--profile", "demo", "--pace", "closed:1", "--json", str(out), *words]) == 0
    session = folder.existing()[-1]
    _, outcomes, _ = read_outcomes(session / "run-1.jsonl")
    return json.loads(out.read_text()), {o.id: o for o in outcomes}, report.render(session)


def median(values) -> float:
    return statistics.median(value for value in values if value is not None)


def test_prefix_caching_on_the_handbook(tmp_path):
    on, with_cache, _ = replay("rag-handbook", tmp_path / "on.json", "prefix-caching=on")
    off, without, text = replay("rag-handbook", tmp_path / "off.json", "prefix-caching=off")
    assert on["requests"]["ok"] == off["requests"]["ok"] == 32 and with_cache.keys() == without.keys()
    warm = [id for id, outcome in with_cache.items() if outcome.reuse == "warm"]
    assert len(warm) >= 12
    assert median(without[id].ttft_s for id in warm) >= 3 * median(with_cache[id].ttft_s for id in warm)
    hits = on["prefix_cache"]
    assert hits["state"] == "on" and abs(hits["hit_rate"] - hits["client_hit_rate"]) < 0.01
    assert abs(hits["hit_rate"] - hits["ceiling"]) < 0.02
    assert off["prefix_cache"]["state"] == "off" and off["prefix_cache"]["hit_rate"] is None
    table = text.split("## Runs")[1].split("\n## ")[0]
    assert "| off |" in table and "| 0 % |" not in table


def test_ngram_on_extraction_and_on_writing(tmp_path):
    on, fast, text = replay("extract-and-write", tmp_path / "on.json", "speculative=ngram")
    off, slow, _ = replay("extract-and-write", tmp_path / "off.json", "speculative=off")
    groups = on["groups"]
    assert groups["extract"]["acceptance_rate"] > 0.40 and groups["write"]["acceptance_rate"] < 0.20
    extract = [id for id, outcome in fast.items() if outcome.group == "extract"]
    assert median(slow[id].tpot_s for id in extract) >= 1.5 * median(fast[id].tpot_s for id in extract)
    assert on["speculative"]["state"] == "on" and len(on["speculative"]["per_position"]) == 4
    assert off["speculative"]["state"] == "off" and off["speculative"]["acceptance_rate"] is None
    assert "extract" in text and "write" in text
