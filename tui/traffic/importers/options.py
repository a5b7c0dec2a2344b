"""What a person may ask of an import."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`max_gap_s` in seconds; `limit` and `sample` in requests, sessions are kept whole."""

    format: str | None = None
    strict: bool = False
    time_unit: str | None = None
    encoding: str | None = None
    limit: int | None = None
    sample: int | None = None
    dedupe: bool = False
    drop_failed: bool = False
    spread_ties: str | None = None
    max_gap_s: float | None = None
    mask_secrets: bool = False
    block_size: int | None = None
    seed: int = 0
