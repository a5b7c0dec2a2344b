"""One canonical table of the engine's metrics over vLLM 0.6 to 0.33.

vLLM renamed metrics often and for some versions served the old and the new name side by side, so
every field lists its names newest first and only the newest one present is read. Counters end in
`_total` (prometheus_client adds it); a name without it is taken as well. Sources: vLLM's
`v1/metrics/loggers.py`, `v1/spec_decode/metrics.py`, and `engine/metrics.py` of the 0.6 line.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "share", "counter", "seconds", "position", "info"]

PREFIX = "vllm:"
PROCESS_START = "process_start_time_seconds"


@dataclass(frozen=True, slots=True)
class Metric:
    """A field of EngineSample and the sample names that fill it, newest first."""

    field: str
    kind: Kind
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What one sample name fills; a lower rank is a newer name."""

    field: str
    kind: Kind
    rank: int


def _histogram(field: str, *names: str) -> tuple[Metric, Metric]:
    """Sum (seconds) and count of a latency histogram; its buckets are too coarse to be read."""
    return (
        Metric(f"{field}_sum_s", "seconds", tuple(f"{name}_sum" for name in names)),
        Metric(f"{field}_count", "counter", tuple(f"{name}_count" for name in names)),
    )


METRICS: tuple[Metric, ...] = (
    Metric("running", "gauge", ("num_requests_running",)),
    Metric("waiting", "gauge", ("num_requests_waiting",)),
    Metric("kv_usage", "share", ("kv_cache_usage_perc", "gpu_cache_usage_perc")),
    Metric("prefix_queries", "counter", ("prefix_cache_queries", "gpu_prefix_cache_queries")),
    Metric("prefix_hits", "counter", ("prefix_cache_hits", "gpu_prefix_cache_hits")),
    Metric("prompt_tokens", "counter", ("prompt_tokens",)),
    Metric("prompt_tokens_cached", "counter", ("prompt_tokens_cached",)),
    Metric("generation_tokens", "counter", ("generation_tokens",)),
    Metric("preemptions", "counter", ("num_preemptions",)),
    # A histogram in spite of its name: computed prompt tokens and generated ones of a step that gave any.
    Metric("step_tokens", "counter", ("iteration_tokens_total_sum",)),
    Metric("step_count", "counter", ("iteration_tokens_total_count",)),
    Metric("spec_drafts", "counter", ("spec_decode_num_drafts",)),
    Metric("spec_draft_tokens", "counter", ("spec_decode_num_draft_tokens",)),
    Metric("spec_accepted_tokens", "counter", ("spec_decode_num_accepted_tokens",)),
    Metric("spec_accepted_per_pos", "position", ("spec_decode_num_accepted_tokens_per_pos",)),
    *_histogram("ttft", "time_to_first_token_seconds"),
    # One observation per request and engine step, whatever it is called: not per token.
    *_histogram("itl", "inter_token_latency_seconds", "time_per_output_token_seconds"),
    *_histogram("queue", "request_queue_time_seconds", "time_in_queue_requests"),
    *_histogram("prefill", "request_prefill_time_seconds"),
    *_histogram("decode", "request_decode_time_seconds"),
    *_histogram("kv_lifetime", "kv_block_lifetime_seconds"),
    *_histogram("kv_idle", "kv_block_idle_before_evict_seconds"),
    *_histogram("kv_reuse_gap", "kv_block_reuse_gap_seconds"),
    Metric("cache_config", "info", ("cache_config_info",)),
)


def _sources() -> dict[str, Source]:
    table = {}
    for metric in METRICS:
        for rank, name in enumerate(metric.names):
            source = Source(metric.field, metric.kind, rank)
            table[PREFIX + name] = source
            if metric.kind in ("counter", "position") and not name.endswith("_count"):
                table[f"{PREFIX}{name}_total"] = source
    return table


SOURCES: dict[str, Source] = _sources()
COUNTERS: tuple[str, ...] = tuple(m.field for m in METRICS if m.kind in ("counter", "seconds"))
