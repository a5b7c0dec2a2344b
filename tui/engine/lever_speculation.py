"""The lever on speculative decoding."""

import json
from typing import Any

from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_values import LOOKUP, Speculation
from tui.errors import VtuneError


def config_of(words: Words, around: Surroundings) -> dict[str, Any] | None:
    """vLLM's `--speculative-config` for these words; None: off."""
    spec = Speculation.read(words)
    if spec.method is None:
        return None
    config: dict[str, Any] = {"method": spec.method.replace("-", "_")}
    if spec.tokens is not None:
        config["num_speculative_tokens"] = spec.tokens
    if spec.lookup:
        config["prompt_lookup_min"], config["prompt_lookup_max"] = spec.lookup
    if spec.model:
        config["model"] = around.place_model(spec.model)
    return config


def _flags(words: Words, around: Surroundings) -> list[str]:
    """vLLM has no flag that says *off*: without a config it does not speculate."""
    config = config_of(words, around)
    return [] if config is None else ["--speculative-config", json.dumps(config, sort_keys=True)]


def _check(words: Words, around: Surroundings) -> None:
    if Speculation.read(words).method == "ngram-gpu" and around.cpu:
        raise VtuneError(f"speculative={words}: needs a GPU", "use speculative=ngram")


def _note(words: Words, around: Surroundings) -> str | None:
    method = Speculation.read(words).method
    if method in ("ngram", "suffix") and not around.cpu and (around.version_tuple or (0,)) < (0, 33):
        also = "; suffix also needs arctic-inference and the older model runner" if method == "suffix" else ""
        return f"vLLM switches async scheduling off with {method}: two things change at once{also}"
    if method == "suffix":
        return "needs the package arctic-inference in the engine's environment"
    if method == "draft-model":
        return "the draft's KV comes out of the same pool: fewer tokens fit"
    if method in ("eagle", "eagle3", "mtp") and (around.version_tuple or (0,)) < (0, 33):
        return "the last matched block of a prefix is computed again: fewer cached tokens"
    return None


def _read_back(read: ReadBack) -> Words | None:
    if "speculative_config" not in read.server_info:
        return None
    config = read.server_info["speculative_config"]
    if not config:
        return "off"
    method = str(config.get("method", "unknown")).replace("_", "-")
    tokens = config.get("num_speculative_tokens")
    lookup = None
    if method in LOOKUP:
        lookup = (config.get("prompt_lookup_min"), config.get("prompt_lookup_max"))
        return Speculation(method, tokens, lookup).write()
    model = None if method in ("suffix", "mtp") else config.get("model")
    return Speculation(method, tokens, model=model).write()


def _same(asked: Words, applied: Words) -> bool:
    """Equal, but for how a model is named (bundled:x is .../x) and numbers that were left to the method."""
    if asked == applied:
        return True
    try:
        want, have = Speculation.read(asked), Speculation.read(applied)
    except VtuneError:
        return False
    tokens = want.tokens in (None, have.tokens)
    return (
        want.method == have.method and tokens and want.lookup == have.lookup and _tail(want.model) == _tail(have.model)
    )


def _tail(model: str | None) -> str | None:
    return model and model.rstrip("/").replace(":", "/").rpartition("/")[2]


SPECULATIVE = Lever(
    name="speculative",
    title="speculation",
    group="speculation",
    owns=("speculative-config", "spec-method", "spec-model", "spec-tokens"),
    parse=lambda words: Speculation.read(words).write(),
    default=lambda around: "off",
    flags=_flags,
    check=_check,
    note=_note,
    read_back=_read_back,
    matches=_same,
    gain="several tokens per step where they can be guessed (n-gram: text copied from the prompt): lower TPOT",
    cost="steps spent on rejected guesses; less gain at high load; min_p and logit_bias are refused",
    hint="off | ngram:TOKENS:MIN-MAX | draft-model:PATH:TOKENS | suffix | eagle3:PATH:TOKENS | mtp:TOKENS",
    toggle=("off", "ngram:4:2-4"),
    since=(0, 8, 5),
)
