"""Target and draft must speak the same tokens, and that is more than equally many."""

import json
import re

import pytest
from made_install import CPU

from tui.engine import command, vocabulary
from tui.engine.profile import load, with_settings

TOKENS = {"<s>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "abc": 5}
MERGES = [["a", "b"], ["ab", "c"]]
SPECIAL = {"<s>": 0}


def made(folder, tokens=TOKENS, merges=MERGES, special=SPECIAL, **config):
    folder.mkdir()
    added = [{"id": number, "content": text, "special": True} for text, number in special.items()]
    whole = {"model": {"type": "BPE", "vocab": tokens, "merges": merges}, "added_tokens": added}
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    (folder / "config.json").write_text(json.dumps({"vocab_size": len(tokens), **config}))
    return str(folder)


def test_two_copies_of_a_tokenizer_are_alike_whichever_way_the_merges_are_written(tmp_path):
    target = made(tmp_path / "target")
    draft = made(tmp_path / "draft", merges=["a b", "ab c"])
    assert vocabulary.differences(target, draft) == ()


SWAPPED = {**TOKENS, "b": 3, "c": 2}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tokens": SWAPPED}, "vocabulary: 4 of 6 tokens have the same id in the draft, which has 6"),
        ({"merges": [["ab", "c"], ["a", "b"]]}, r"merges: .*\(from merge 1 on"),
        ({"merges": MERGES[:1]}, r"merges: .*\(2 against 1"),
        ({"special": {"<s>": 1}}, "special tokens: <s> differ"),
        ({"special": {"<s>": 0, "<|im_end|>": 5}}, r"special tokens: <\|im_end\|> differ"),
    ],
)
def test_a_tokenizer_of_the_same_size_that_differs_is_told(tmp_path, changes, words):
    (sentence,) = vocabulary.differences(made(tmp_path / "target"), made(tmp_path / "draft", **changes))
    assert re.search(words, sentence)


def test_a_unigram_tokenizer_differs_by_its_scores(tmp_path):
    folders = []
    for name, score in (("target", -1.0), ("draft", -2.0)):
        (tmp_path / name).mkdir()
        rows = [["<unk>", 0.0], ["a", score]]
        (tmp_path / name / "tokenizer.json").write_text(json.dumps({"model": {"type": "Unigram", "vocab": rows}}))
        folders.append(str(tmp_path / name))
    (sentence,) = vocabulary.differences(*folders)
    assert sentence.startswith("merges")


def test_a_tokenizer_that_is_not_here_is_unknown_and_no_difference(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{}")
    target = made(tmp_path / "target")
    assert vocabulary.differences(target, "org/elsewhere") is None
    assert vocabulary.differences(target, str(tmp_path / "broken")) is None


def test_a_hub_id_is_looked_for_in_the_hub_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    hub = tmp_path / "models--org--draft"
    (hub / "refs").mkdir(parents=True)
    (hub / "snapshots").mkdir()
    (hub / "refs" / "main").write_text("abc123")
    made(hub / "snapshots" / "abc123")
    assert vocabulary.differences(made(tmp_path / "target"), "org/draft") == ()


def test_the_launch_says_so_before_anything_starts(tmp_path):
    target, draft = made(tmp_path / "target", max_position_embeddings=2048), made(tmp_path / "draft", tokens=SWAPPED)
    settings = [f"engine.model={target}", f"speculative=draft-model:{draft}:3", "engine.args.max-model-len=2048"]

    def told(words):
        launch = command.build(with_settings(load("demo"), words), CPU, 8123)
        return [warning for warning in launch.warnings if "tokenizer" in warning]

    (warning,) = told(settings)
    assert "4 of 6 tokens have the same id" in warning
    alike = [settings[0], f"speculative=draft-model:{target}:3", settings[2]]
    assert told(alike) == []
