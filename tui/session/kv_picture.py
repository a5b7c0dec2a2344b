"""What the KV panel shows beside its curve, frozen. None is unknown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostPrefix:
    """A prefix that was asked for again after its blocks had been evicted."""

    quote: str | None  # the words with which its lost part begins
    asked: int  # times
    asked_by: str  # the first request that missed it
    last_used_by: str
    lost_tokens: int
    idle_s: float  # the shortest time since it had last been used


@dataclass(frozen=True, slots=True)
class EnginePart:
    engine: str
    usage_peak: float | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class KvPicture:
    """Tokens, blocks and seconds; of one engine where there are several."""

    tokens: int | None = None
    block_size: int | None = None
    blocks: int | None = None
    used_now: int | None = None  # blocks that requests hold; cached ones that nobody holds count as free
    used_peak: int | None = None
    partial_share: float | None = None  # of the sequences' blocks, what their last ones left empty
    at_once: int | None = None  # the most requests at a time
    longest_fit: int | None = None  # tokens that each of them may have
    longest_seen: int | None = None
    would_hold: tuple[tuple[str, int], ...] = ()  # lever=value, tokens
    predicted: tuple[int, int] | None = None  # tokens worked out before the restart, tokens the engine reports
    recycled_blocks: int | None = None  # sampled ones that were taken for something else
    lifetime_s: float | None = None
    idle_s: float | None = None
    reuse_gap_s: float | None = None
    prompt_tokens: int | None = None
    evicted_tokens: int | None = None  # asked for again
    evicted_soon_tokens: int | None = None
    lost: tuple[LostPrefix, ...] = ()
    turns: tuple[tuple[int, int, int, int], ...] = ()  # turn, prompt tokens, cached, of that from the turn before
    engines: tuple[EnginePart, ...] = ()  # the fullest first; empty for a single one
