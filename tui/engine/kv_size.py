"""How many tokens a KV pool of a fixed size holds, from the checkpoint's own config."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui.engine import argv, lever_values, model
from tui.engine.launch import Launch
from tui.engine.lever import Surroundings
from tui.engine.settings import Profile

_BYTES = {
    "float16": 2, "half": 2, "bfloat16": 2, "float32": 4, "float": 4,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1,
}  # fmt: skip
# Attention of these kinds keeps something else than keys and values of every token.
_OTHERWISE = ("kv_lora_rank", "layers_block_type", "attn_type_list", "ssm_cfg", "linear_num_key_heads")


def tokens(profile: Profile, around: Surroundings, block_size: int) -> int | None:
    """Whole blocks of the pool, in tokens; None where the pool has no fixed size or the model is not a plain one."""
    pool, dtype = around.values.get("kv-pool", "auto"), around.values.get("kv-dtype", "auto")
    if dtype == "auto":
        dtype = around.raw.get("dtype", dtype)  # of a draft too: vLLM gives it the model's
    each = token_bytes(profile.engine.model, dtype)
    if each is None or pool == "auto" or pool.endswith("%") or around.values.get("tensor-parallel", "1") != "1":
        return None
    draft = lever_values.Speculation.read(around.values.get("speculative", "off")).model
    if draft is not None:
        more = token_bytes(draft, dtype)
        if more is None:
            return None
        each += more
    return whole_blocks(lever_values.bytes_of("kv-pool", pool), each, block_size)


def whole_blocks(size: int, each: int, block_size: int) -> int:
    """Tokens in the whole blocks that `size` bytes hold, at `each` bytes a token."""
    return size // (each * block_size) * block_size


def token_bytes(ref: str, dtype: str = "auto") -> int | None:
    """Bytes that one token takes in the KV cache of a model; None where that is not known, or not alike for all layers.

    vLLM gives every layer the same number of pages of 2 x heads x head size x block size elements
    (vllm/v1/kv_cache_interface.py, FullAttentionSpec).
    """
    try:
        text = (Path(model.given(ref)) / "config.json").read_text(encoding="utf-8")
        config: dict[str, Any] = json.loads(text)
        layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        size = int(config.get("head_dim") or int(config["hidden_size"]) // heads)
        kept = int(config.get("num_key_value_heads") or heads)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if dtype == "auto":
        dtype = str(config.get("dtype") or config.get("torch_dtype"))
    windows = bool(config.get("sliding_window")) and config.get("use_sliding_window", True)
    if dtype not in _BYTES or windows or any(config.get(key) for key in _OTHERWISE):
        return None
    return 2 * layers * kept * size * _BYTES[dtype]


def of_launch(launch: Launch) -> dict[str, dict[str, int]]:
    """Bytes a token of the model (`target`) and of its draft (`draft`), each by KV dtype (`auto`, `fp8`).

    Without what is not known: a model that is not on this machine, or one that is spread over devices.
    """
    flags = argv.flags(launch.argv)
    if any(flags.get(flag, ("1",))[0] != "1" for flag in ("tensor-parallel-size", "pipeline-parallel-size")):
        return {}
    refs = {"target": argv.model(launch.argv), "draft": _draft(flags)}
    computed = flags.get("dtype", ("auto",))[0]
    found = {
        part: {dtype: each for dtype, kept in (("auto", computed), ("fp8", "fp8"))
               if (each := token_bytes(ref, kept)) is not None}
        for part, ref in refs.items()
        if ref
    }  # fmt: skip
    return found if all(found.values()) else {}


def _draft(flags: Mapping[str, tuple[str, ...]]) -> str | None:
    try:
        found = json.loads(" ".join(flags.get("speculative-config", ()))).get("model")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None
