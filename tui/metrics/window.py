"""What happened between scrapes: deltas of counters and the ratios made of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from tui.metrics.counters import Counters
from tui.metrics.names import COUNTERS
from tui.metrics.scrape import EngineSample, Scrape


@dataclass(frozen=True, slots=True)
class Window(Counters):
    """Sums over all engines between the first and the last scrape; None where a counter is not told.

    A restart sets counters back to zero; what was counted since then is kept, what the last
    scrape before it did not see is lost, and `restarts` says that it happened.
    """

    seconds: float = 0.0
    restarts: int = 0

    @classmethod
    def over(cls, scrapes: Iterable[Scrape]) -> Self:
        """The window from the first to the last of `scrapes` (in order); each step is looked at for a restart."""
        total: dict[str, Any] = {name: None for name in COUNTERS}
        positions: list[int] = []
        seconds, restarts = 0.0, 0
        for before, after in pairwise(scrapes):
            seconds += after.t - before.t
            restarts += _restarted(before, after)
            for name, value in _deltas(before, after).items():
                total[name] = value + (total[name] or 0)
            _add(positions, _position_deltas(before, after))
        return cls(seconds=seconds, spec_accepted_per_pos=tuple(positions), restarts=restarts, **total)

    def __add__(self, later: "Window") -> "Window":
        """The window over both spans."""
        positions = list(self.spec_accepted_per_pos)
        _add(positions, list(later.spec_accepted_per_pos))
        sums = {
            name: None if getattr(self, name) is None and getattr(later, name) is None
            else (getattr(self, name) or 0) + (getattr(later, name) or 0)
            for name in COUNTERS
        }  # fmt: skip
        seconds, restarts = self.seconds + later.seconds, self.restarts + later.restarts
        return Window(seconds, **sums, spec_accepted_per_pos=tuple(positions), restarts=restarts)

    @property
    def hit_rate(self) -> float | None:
        """Cached prompt tokens / queried prompt tokens; None where nothing was queried."""
        return ratio(self.prefix_hits, self.prefix_queries)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted draft tokens / proposed draft tokens."""
        return ratio(self.spec_accepted_tokens, self.spec_draft_tokens)

    @property
    def mean_acceptance_length(self) -> float | None:
        """1 + accepted / drafts (vLLM's v1/spec_decode/metrics.py; the bonus token is the 1).

        Steps without a proposal are not drafts, so with n-gram this is more than tokens per step.
        """
        accepted = ratio(self.spec_accepted_tokens, self.spec_drafts)
        return None if accepted is None else 1 + accepted

    @property
    def per_position(self) -> tuple[float, ...]:
        """Accepted at position i / drafts; empty without drafts."""
        drafts = self.spec_drafts
        return tuple(accepted / drafts for accepted in self.spec_accepted_per_pos) if drafts else ()

    @property
    def tokens_per_step(self) -> float | None:
        """Tokens that a request gets in a step: generated / (ITL + TTFT observations), one of which is made a step."""
        if self.itl_count is None or self.ttft_count is None:
            return None
        return ratio(self.generation_tokens, self.itl_count + self.ttft_count)

    @property
    def kv_lifetime_s(self) -> float | None:
        """Mean seconds from a KV block's being taken to its being taken for something else."""
        return ratio(self.kv_lifetime_sum_s, self.kv_lifetime_count)

    @property
    def kv_idle_s(self) -> float | None:
        """Mean seconds since a prompt last asked for a block, when it was taken for something else."""
        return ratio(self.kv_idle_sum_s, self.kv_idle_count)

    @property
    def kv_reuse_gap_s(self) -> float | None:
        """Mean seconds between two prompts that hit the same block."""
        return ratio(self.kv_reuse_gap_sum_s, self.kv_reuse_gap_count)

    @property
    def batch_size(self) -> float | None:
        """Requests that got tokens in a step of the engine: (ITL + TTFT observations) / steps that gave any."""
        if self.itl_count is None or self.ttft_count is None:
            return None
        return ratio(self.itl_count + self.ttft_count, self.step_count)

    @property
    def batch_tokens(self) -> float | None:
        """Tokens in a step, computed prompt tokens included: a prompt counts whole in the step that ends it."""
        return ratio(self.step_tokens, self.step_count)

    @property
    def output_tokens_per_s(self) -> float | None:
        return ratio(self.generation_tokens, self.seconds)

    @property
    def prompt_tokens_per_s(self) -> float | None:
        """Prompt tokens, cached ones included; vLLM counts a prompt when its first token comes out."""
        return ratio(self.prompt_tokens, self.seconds)


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole; None where either is unknown or the whole is not above zero."""
    return part / whole if part is not None and whole is not None and whole > 0 else None


def _restarted(before: Scrape, after: Scrape) -> bool:
    if before.started_at is not None and after.started_at is not None:
        return before.started_at != after.started_at
    return any(_reset(old, new) for new in after.engines if (old := before.engine(new.engine)) is not None)


def _reset(old: EngineSample, new: EngineSample) -> bool:
    """Did a counter go back? One that did means that all of the engine's started again."""
    return any(
        was is not None and now is not None and now < was
        for was, now in ((getattr(old, name), getattr(new, name)) for name in COUNTERS)
    )


def _since(before: Scrape, after: Scrape, new: EngineSample) -> EngineSample:
    """What the counters of `new` are counted from: zero after a restart or for an engine first seen."""
    old = before.engine(new.engine)
    other_process = None not in (before.started_at, after.started_at) and before.started_at != after.started_at
    return EngineSample(new.engine) if old is None or other_process or _reset(old, new) else old


def _deltas(before: Scrape, after: Scrape) -> dict[str, Any]:
    sums: dict[str, Any] = {}
    for new in after.engines:
        old = _since(before, after, new)
        for name in COUNTERS:
            if (now := getattr(new, name)) is not None:
                sums[name] = sums.get(name, 0) + now - (getattr(old, name) or 0)
    return sums


def _position_deltas(before: Scrape, after: Scrape) -> list[int]:
    sums: list[int] = []
    for new in after.engines:
        was = _since(before, after, new).spec_accepted_per_pos
        _add(sums, [now - (was[i] if i < len(was) else 0) for i, now in enumerate(new.spec_accepted_per_pos)])
    return sums


def _add(sums: list[int], values: list[int]) -> None:
    sums.extend([0] * (len(values) - len(sums)))
    for i, value in enumerate(values):
        sums[i] += value
