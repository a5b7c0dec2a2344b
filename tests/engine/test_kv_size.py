"""What a token takes in the KV pool, read from checkpoints: of the model, and of a draft beside it."""

import json

import pytest
from made_install import CPU

from tui.engine import command, kv_size
from tui.engine.profile import load, with_settings

SMOL = {"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576,
        "dtype": "bfloat16", "max_position_embeddings": 8192, "vocab_size": 49152}  # fmt: skip


def checkpoint(folder, **changes) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**SMOL, **changes}))
    return str(folder)


def launched(tmp_path, *settings):
    target = checkpoint(tmp_path / "target")
    return command.build(with_settings(load("demo"), [f"engine.model={target}", *settings]), CPU, 8123)


def test_a_plain_model_by_dtype(tmp_path):
    assert kv_size.of_launch(launched(tmp_path)) == {"target": {"auto": 23_040, "fp8": 11_520}}


def test_a_draft_takes_its_own_part(tmp_path):
    draft = checkpoint(tmp_path / "draft", num_hidden_layers=6)
    launch = launched(tmp_path, f"speculative=draft-model:{draft}:3")
    assert kv_size.of_launch(launch)["draft"] == {"auto": 4_608, "fp8": 2_304}


def test_ngram_has_no_part(tmp_path):
    assert set(kv_size.of_launch(launched(tmp_path, "speculative=ngram"))) == {"target"}


@pytest.mark.parametrize(
    "changes",
    [{"kv_lora_rank": 512}, {"sliding_window": 4096}, {"layers_block_type": ["mamba"]}, {"num_hidden_layers": None}],
)
def test_a_model_that_keeps_something_else_is_not_worked_out(tmp_path, changes):
    assert kv_size.token_bytes(checkpoint(tmp_path / "odd", **changes)) is None


def test_an_unknown_draft_makes_the_whole_unknown(tmp_path):
    draft = checkpoint(tmp_path / "draft", kv_lora_rank=512)
    assert kv_size.of_launch(launched(tmp_path, f"speculative=draft-model:{draft}:3")) == {}
