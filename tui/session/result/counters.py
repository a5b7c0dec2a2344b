"""What the engine's counters say about a run: prefix cache and speculation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tui.metrics.scrape import Scrape
from tui.metrics.window import Window, ratio
from tui.traffic.outcome import Outcome

Switch = Literal["on", "off", "unknown"]

_JOURNAL_ROUNDS_S = 0.001  # so a scrape just before the run may seem to come after its start


@dataclass(frozen=True, slots=True)
class Seen:
    """The scrapes of a run, from the last one before it, and the window over them."""

    scrapes: tuple[Scrape, ...]
    window: Window

    @property
    def last(self) -> Scrape | None:
        return self.scrapes[-1] if self.scrapes else None


def of_run(scrapes: Sequence[Scrape], started_at: float) -> Seen:
    """What belongs to the run that started at `started_at`: warm-up before it does not count."""
    start = started_at + _JOURNAL_ROUNDS_S
    before = [s for s in scrapes if s.t <= start]
    used = (*before[-1:], *(s for s in scrapes if s.t > start))
    return Seen(used, Window.over(used))


def prefix_state(engine: Mapping[str, Any], last: Scrape | None) -> Switch:
    """As applied; else as the engine's cache_config_info has it; else unknown."""
    value = (engine.get("applied") or {}).get("prefix-caching")
    if value is None and last is not None:
        value = {"True": "on", "False": "off"}.get(last.cache_config.get("enable_prefix_caching", ""))
    return value if value in ("on", "off") else "unknown"


def prefix_cache(
    seen: Seen, engine: Mapping[str, Any], outcomes: Sequence[Outcome], ceiling: float | None
) -> dict[str, Any]:
    state = prefix_state(engine, seen.last)
    window = seen.window
    return {
        "state": state,
        "queries": window.prefix_queries,
        "hits": window.prefix_hits,
        "hit_rate": None if state == "off" else window.hit_rate,
        "client_hit_rate": None if state == "off" else client_hit_rate(outcomes),
        "ceiling": ceiling,
    }


def client_hit_rate(outcomes: Sequence[Outcome]) -> float | None:
    """Cached / prompt tokens over the answers that told both."""
    told = [o for o in outcomes if o.status == "ok" and o.cached_tokens is not None and o.prompt_tokens]
    return ratio(sum(o.cached_tokens or 0 for o in told), sum(o.prompt_tokens or 0 for o in told)) if told else None


def speculative(seen: Seen, engine: Mapping[str, Any]) -> dict[str, Any]:
    """Speculation; what it is `off` for has no rates. vLLM makes its metrics only while it is on."""
    value = (engine.get("applied") or {}).get("speculative")
    told = seen.last is not None and seen.last.total("spec_draft_tokens") is not None
    state: Switch = "off" if value == "off" else "on" if value is not None or told else "unknown"
    window = seen.window if state != "off" else Window()
    return {
        "state": state,
        "method": value.partition(":")[0] if value not in (None, "off") else None,
        "drafts": window.spec_drafts,
        "draft_tokens": window.spec_draft_tokens,
        "accepted_tokens": window.spec_accepted_tokens,
        "acceptance_rate": window.acceptance_rate,
        "mean_acceptance_length": window.mean_acceptance_length,
        "per_position": list(window.per_position),
        "tokens_per_step": seen.window.tokens_per_step,
    }


def steps(seen: Seen) -> dict[str, Any]:
    """The engine's steps that gave tokens: how many, and the requests and tokens in one of them on average."""
    window = seen.window
    return {"n": window.step_count, "requests": window.batch_size, "tokens": window.batch_tokens}
