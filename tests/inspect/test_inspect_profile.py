"""Exact tokens by the model's own tokenizer, where the engine's interpreter and the model are on this machine."""

import json

import pytest

from tui import cli
from tui.engine import device, install, model
from tui.errors import VtuneError
from tui.traffic import recording


@pytest.fixture
def demo(monkeypatch):
    if not (model.place("bundled:smollm2-135m") / "tokenizer.json").is_file():
        pytest.skip("the bundled model has not been made here: make setup")
    try:
        found = install.find()
    except VtuneError as error:
        pytest.skip(error.what)
    return found


def test_the_tokens_are_those_that_the_engine_counted(demo, tmp_path):
    out = tmp_path / "result.json"
    assert cli.main(["inspect", "rag-handbook", "--profile", "demo", "--json", str(out)]) == 0
    result = json.loads(out.read_text())
    counted = [request.reply["usage"]["prompt_tokens"] for request in recording.load("rag-handbook").requests]
    assert result["tokens"] == "exact"
    assert result["prompt_tokens"]["mean"] * len(counted) == pytest.approx(sum(counted))
    assert (result["prompt_tokens"]["min"], result["prompt_tokens"]["max"]) == (min(counted), max(counted))
    if demo.platform == "cpu":
        assert result["block_size"] == 128
        # What the engine itself says of 1 GiB for this model, at 16 and at 32 bits.
        held = 23_296 if device.slow_at_16_bits() else 46_592
        assert [pool["kv_tokens"] for pool in result["capacity"] if pool["engine"]] == [held]
        assert 0.70 < result["ceiling"] < 0.73 and result["breaks"] == []
