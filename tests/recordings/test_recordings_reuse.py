"""What the shipped recordings can reuse, exactly, with the tokenizer of the bundled model."""

import os
from pathlib import Path

import pytest

from tui.engine import model
from tui.traffic.prefix import Prompt, analyse
from tui.traffic.recording import load

BLOCK_SIZE = 128  # vLLM's on CPU


@pytest.fixture(scope="module")
def tokenizer():
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizers package comes with the engine")
    folder = Path(os.environ.get("VTUNE_TEST_MODEL") or model.place("bundled:smollm2-135m"))
    if not (folder / "tokenizer.json").is_file():
        pytest.skip("the bundled model has not been made here: make setup")
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def prompts(tokenizer, requests):
    """The requests' prompts as the model's chat template renders them."""
    for request in requests:
        turns = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in request.body["messages"]]
        text = "".join([*turns, "<|im_start|>assistant\n"])
        yield Prompt(request.id, tokenizer.encode(text, add_special_tokens=False).ids)


def test_prompts_have_as_many_tokens_as_the_engine_counted(tokenizer, shipped):
    counted = [request.reply["usage"]["prompt_tokens"] for request in shipped.requests]
    assert [len(prompt.tokens) for prompt in prompts(tokenizer, shipped.requests)] == counted


def test_twelve_requests_of_the_handbook_can_reuse_seventy_percent(tokenizer):
    result = analyse(prompts(tokenizer, load("rag-handbook").requests), BLOCK_SIZE)
    assert sum(request.share >= 0.7 for request in result.requests) >= 12
    assert sum(request.share == 0 for request in result.requests) >= 5
    assert 0.6 < result.ceiling < 0.8


def test_the_stable_prefix_of_the_handbook_is_about_900_tokens(tokenizer):
    asked = [request for request in load("rag-handbook").requests if request.group == "ask"]
    tokens = [prompt.tokens for prompt in prompts(tokenizer, asked)]
    same = next(n for n in range(min(map(len, tokens))) if len({ids[n] for ids in tokens}) > 1)
    assert 896 <= same < 960


def test_mixed_lengths_share_no_block(tokenizer):
    result = analyse(prompts(tokenizer, load("mixed-lengths").requests), BLOCK_SIZE)
    assert result.ceiling == 0
