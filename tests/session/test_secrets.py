"""What counts as a secret, and what must stay readable."""

import pytest

from tui.session import secrets


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "--api-key", "OPENAI_API_KEY", "engine.env.HF_TOKEN", "AWS_SECRET", "db-password"]
)
def test_names_of_secrets(name):
    assert secrets.is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["--max-num-batched-tokens", "--long-prefill-token-threshold", "tokens", "--model", "KEYBOARD", "tokenizer"],
)
def test_names_that_hold_none(name):
    assert not secrets.is_secret(name)


def test_command_lines_in_every_form():
    words = ["vllm", "serve", "m", "--api-key", "a", "b", "--port", "1", "--hf-token=c", "--seed", "0"]
    assert secrets.argv(words) == [
        "vllm", "serve", "m", "--api-key", "WITHHELD", "WITHHELD", "--port", "1", "--hf-token=WITHHELD", "--seed", "0",
    ]  # fmt: skip


def test_settings_and_environment():
    told = secrets.settings(["engine.env.HF_TOKEN=x=y", "kv-dtype=fp8"])
    assert told == ["engine.env.HF_TOKEN=WITHHELD", "kv-dtype=fp8"]
    assert secrets.env({"HF_TOKEN": "x", "OMP_NUM_THREADS": "1"}) == {"HF_TOKEN": "WITHHELD", "OMP_NUM_THREADS": "1"}


def test_a_profile_keeps_all_but_its_secrets():
    text = (
        "env:\n  HF_TOKEN: hf_x  # mine\n  OTHER: 1\n"
        "args: {api-key: [aa, bb], hf_token: 'q,r', max-num-batched-tokens: 512}\n"
        "chunked-prefill: {tokens: 2048, long-prefill-threshold: 0}\n"
    )
    shown = secrets.yaml(text)
    assert not any(secret in shown for secret in ("hf_x", "q,r", "aa", "bb"))
    for kept in ("OTHER: 1", "max-num-batched-tokens: 512", "{tokens: 2048, long-prefill-threshold: 0}"):
        assert kept in shown
