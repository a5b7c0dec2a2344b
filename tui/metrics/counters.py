"""The counters that an engine's sample and a window between samples share, declared once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Tokens, requests, blocks or steps; `*_sum_s` are seconds. None: this vLLM does not say.

    Of a sample: since the engine's start. Of a window: within it. `itl_count` has one observation per request and
    step, so with speculation it is not tokens. `kv_*` are of sampled blocks (``--kv-cache-metrics-sample``), told
    when a block is taken for something else, whether it could have been found again or not: how long it had been
    there, how long nothing had asked for it, and the gaps between its last askings
    (vllm/v1/core/kv_cache_metrics.py, 0.32).
    """

    prefix_queries: int | None = None  # tokens
    prefix_hits: int | None = None
    prompt_tokens: int | None = None  # cached ones included
    prompt_tokens_cached: int | None = None
    generation_tokens: int | None = None
    preemptions: int | None = None
    step_tokens: int | None = None  # computed prompt tokens and generated ones
    step_count: int | None = None  # steps of the engine that gave tokens
    spec_drafts: int | None = None  # steps that verified a proposal
    spec_draft_tokens: int | None = None
    spec_accepted_tokens: int | None = None
    spec_accepted_per_pos: tuple[int, ...] = ()
    ttft_sum_s: float | None = None
    ttft_count: int | None = None
    itl_sum_s: float | None = None
    itl_count: int | None = None
    queue_sum_s: float | None = None
    queue_count: int | None = None
    prefill_sum_s: float | None = None
    prefill_count: int | None = None
    decode_sum_s: float | None = None
    decode_count: int | None = None
    kv_lifetime_sum_s: float | None = None
    kv_lifetime_count: int | None = None
    kv_idle_sum_s: float | None = None
    kv_idle_count: int | None = None
    kv_reuse_gap_sum_s: float | None = None
    kv_reuse_gap_count: int | None = None
