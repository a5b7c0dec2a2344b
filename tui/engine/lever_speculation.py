"""The lever on speculative decoding."""

import json
from collections.abc import Mapping
from typing import Any

from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_values import DRAFTED, LOOKUP, Speculation
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
    return {**config, **{key: json.loads(value) for key, value in spec.options}}


def _flags(words: Words, around: Surroundings) -> list[str]:
    """vLLM has no flag that says *off*: without a config it does not speculate."""
    config = config_of(words, around)
    return [] if config is None else ["--speculative-config", json.dumps(config, sort_keys=True)]


def words_of_config(config: Mapping[str, Any]) -> Words:
    """The words for vLLM's own `--speculative-config`. Raises VtuneError where it names no method that vtune has."""
    rest = dict(config)
    model, tokens = rest.pop("model", None), rest.pop("num_speculative_tokens", None)
    method = str(rest.pop("method", None) or _inferred(model)).replace("_", "-")
    method = "mtp" if method.endswith("-mtp") else method
    low, high = rest.pop("prompt_lookup_min", None), rest.pop("prompt_lookup_max", None)
    options = tuple(sorted((str(key), json.dumps(value, sort_keys=True)) for key, value in rest.items()))
    lookup = None
    if method in LOOKUP:  # one alone stands for both, none for 5 (vllm.md 1.6)
        lookup = (int(low or high or 5), int(high or low or 5))
        tokens = tokens or 4
    if method in DRAFTED and not (model and tokens):
        raise VtuneError(f"speculative: {method} without model or num_speculative_tokens", "add both to the config")
    kept = str(model) if model and method in DRAFTED else None
    if model and kept is None and method == "mtp":
        options = tuple(sorted((*options, ("model", json.dumps(model)))))
    return Speculation.read(Speculation(method, tokens and int(tokens), lookup, kept, options).write()).write()


def _inferred(model: Any) -> str:
    """As vLLM guesses the method from the model's name, else a draft model (`SpeculativeConfig.__post_init__`)."""
    name = str(model or "").lower()
    if name in ("ngram", "[ngram]"):
        return "ngram"
    return next((word for word in ("eagle3", "dflash", "dspark", "eagle", "medusa") if word in name), "draft-model")


def _given(flags: Mapping[str, Any]) -> Words | None:
    config = flags.get("speculative-config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except ValueError as error:
            raise VtuneError(f"--speculative-config is not JSON: {config}", "write it as one quoted object") from error
    keys = {"spec-method": "method", "spec-model": "model", "spec-tokens": "num_speculative_tokens"}
    config = {**(config or {}), **{key: flags[flag] for flag, key in keys.items() if flag in flags}}
    return words_of_config(config) if config else None


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
    """Equal, but for how a model is named (bundled:x is .../x), numbers left to the method, and further options."""
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
    read_back=_read_back,
    from_flags=_given,
    least=1,
    unit="tokens a step",
    choices_flag="spec-method",
    matches=_same,
    gain="several tokens per step where they can be guessed (n-gram: text copied from the prompt): lower TPOT",
    cost="steps spent on rejected guesses; less gain at high load; min_p and logit_bias are refused",
    hint="off | ngram:TOKENS:MIN-MAX | draft-model:PATH:TOKENS | suffix | eagle3:PATH:TOKENS | mtp:TOKENS",
    toggle=("off", "ngram:4:2-4"),
    since=(0, 8, 5),
)
