"""How many tokens a KV pool of a fixed size holds, from the checkpoint's own config."""

import json
from pathlib import Path
from typing import Any

from tui.engine import lever_values, model
from tui.engine.lever import Surroundings
from tui.engine.settings import Profile

_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1}
# Attention of these kinds keeps something else than keys and values of every token.
_OTHERWISE = ("kv_lora_rank", "layers_block_type", "attn_type_list", "ssm_cfg", "linear_num_key_heads")


def tokens(profile: Profile, around: Surroundings, block_size: int) -> int | None:
    """Whole blocks of the pool, in tokens; None where the pool has no fixed size or the model is not a plain one.

    vLLM gives every layer the same number of pages of 2 x heads x head size x block size elements
    (vllm/v1/kv_cache_interface.py, FullAttentionSpec).
    """
    pool, each = around.values.get("kv-pool", "auto"), _token_bytes(profile, around)
    if each is None or pool == "auto" or pool.endswith("%"):
        return None
    return lever_values.bytes_of("kv-pool", pool) // (each * block_size) * block_size


def _token_bytes(profile: Profile, around: Surroundings) -> int | None:
    try:
        text = (Path(model.given(profile.engine.model)) / "config.json").read_text(encoding="utf-8")
        config: dict[str, Any] = json.loads(text)
        layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        size = int(config.get("head_dim") or int(config["hidden_size"]) // heads)
        kept = int(config.get("num_key_value_heads") or heads)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    dtype = around.values.get("kv-dtype", "auto")
    if dtype == "auto":
        dtype = str(config.get("dtype") or config.get("torch_dtype"))
    windows = bool(config.get("sliding_window")) and config.get("use_sliding_window", True)
    if dtype not in _BYTES or windows or any(config.get(key) for key in _OTHERWISE):
        return None
    tensor = around.values.get("tensor-parallel", "1")
    return None if tensor != "1" else 2 * layers * kept * size * _BYTES[dtype]
