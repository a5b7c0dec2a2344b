"""/metrics: the captured payload with the stand-in's own numbers in it."""

import re

from standin.settings import Settings, captured
from standin.simulated import Simulated

_LINE = re.compile(r"^([\w:]+)(\{.*\})? (\S+)$")
_LE = re.compile(r'le="([^"]+)"')


def exposition(engine: Simulated) -> str:
    settings = engine.settings
    values = _values(engine)
    lines = []
    for line in captured("metrics.txt").splitlines():
        if "spec_decode" in line and settings.speculation is None:
            continue
        found = _LINE.match(line)
        if found is None:
            lines.append(line)
            continue
        name, labels, value = found[1], (found[2] or "").replace("smollm2-135m", settings.served), found[3]
        if name == "vllm:cache_config_info":
            labels = _cache_labels(labels, settings)
        if 'position="' in labels:
            lines += _positions(engine, name, labels, value)
            continue
        lines.append(f"{name}{labels} {_value(engine, values, name, labels, value)}")
    return "\n".join(lines) + "\n"


def _positions(engine: Simulated, name: str, labels: str, default: str) -> list[str]:
    """As many positions as the engine proposes tokens; the captured one had four."""
    if 'position="0"' not in labels:
        return []
    lines = []
    for position in range(int((engine.settings.speculation or {}).get("num_speculative_tokens", 4))):
        value = str(float(engine.count[f"accepted_{position}"])) if name.endswith("_total") else default
        lines.append(name + labels.replace('position="0"', f'position="{position}"') + f" {value}")
    return lines


def _value(engine: Simulated, values: dict[str, float], name: str, labels: str, default: str) -> str:
    for key in (name + labels_key(labels), name):
        if key in values:
            return str(float(values[key]))
    family, _, part = name.rpartition("_")
    times = engine.times.get(family.removeprefix("vllm:"))
    if times is None or part not in ("bucket", "count", "sum"):
        return default
    if part == "bucket" and (bound := _LE.search(labels)):
        return str(float(sum(1 for t in times if t <= float(bound[1].replace("Inf", "inf")))))
    return str(float(len(times))) if part == "count" else str(sum(times))


def labels_key(labels: str) -> str:
    """The labels that tell series of one family apart, such as ``{source="local_compute"}``."""
    kept = [p for p in labels.strip("{}").split(",") if p.startswith(("finished_reason=", "source="))]
    return "{" + ",".join(kept) + "}" if kept else ""


def _values(engine: Simulated) -> dict[str, float]:
    count = engine.count
    values: dict[str, float] = {
        "vllm:num_requests_running": engine.running,
        "vllm:num_requests_waiting": engine.waiting,
        "vllm:kv_cache_usage_perc": engine.usage,
        "vllm:prefix_cache_queries_total": count["prefix_queries"],
        "vllm:prefix_cache_hits_total": count["prefix_hits"],
        "vllm:prompt_tokens_total": count["prompt"],
        "vllm:prompt_tokens_cached_total": count["cached"],
        'vllm:prompt_tokens_by_source_total{source="local_compute"}': count["prompt"] - count["cached"],
        'vllm:prompt_tokens_by_source_total{source="local_cache_hit"}': count["cached"],
        "vllm:generation_tokens_total": count["generation"],
        "vllm:spec_decode_num_drafts_total": count["drafts"],
        "vllm:spec_decode_num_draft_tokens_total": count["draft_tokens"],
        "vllm:spec_decode_num_accepted_tokens_total": count["accepted"],
    }
    for reason in ("stop", "length", "abort", "error"):
        values[f'vllm:request_success_total{{finished_reason="{reason}"}}'] = count[f"success_{reason}"]
    return values


def _cache_labels(labels: str, settings: Settings) -> str:
    tokens = settings.kv_blocks * settings.block_size
    for name, value in (
        ("block_size", settings.block_size),
        ("effective_attention_block_size", settings.block_size),
        ("cache_dtype", settings.kv_dtype),
        ("enable_prefix_caching", settings.prefix_caching),
        ("kv_cache_size_tokens", tokens),
        ("kv_cache_max_concurrency", tokens / settings.max_model_len),
        ("num_gpu_blocks", settings.kv_blocks),
        ("gpu_memory_utilization", settings.text("gpu-memory-utilization", "0.92")),
    ):
        labels = re.sub(rf'(?<=[{{,]){name}="[^"]*"', f'{name}="{value}"', labels)
    return labels
