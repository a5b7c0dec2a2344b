"""What became of one request: a line of ``run-N.jsonl``.

Times are seconds from the start of the run on the monotonic clock; the header line of the
file ties that start to the wall clock.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

SCHEMA = "vtune.requests/1"

Reuse = Literal["cold", "partial", "warm", "unknown"]
REUSES: tuple[Reuse, ...] = ("cold", "partial", "warm", "unknown")


def classify(cached_tokens: int | None, prompt_tokens: int | None) -> Reuse:
    """Class of a request by the share of its prompt that the engine reported as cached.

    0 is cold, under half is partial, half or more is warm; not reported is unknown.
    """
    if cached_tokens is None or not prompt_tokens:
        return "unknown"
    if cached_tokens == 0:
        return "cold"
    return "warm" if 2 * cached_tokens >= prompt_tokens else "partial"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request of a run. None means not known, never zero.

    `due_s` is when its pace wanted it sent, `sent_s` when its last byte was written, `ttft_s` runs
    from due to the first chunk with non-empty content, reasoning or tool-call text. `itl_s` are the
    gaps between content chunks (a chunk may hold several tokens).
    """

    id: str
    group: str | None
    status: Literal["ok", "failed", "cancelled"]
    due_s: float
    sent_s: float | None = None
    connect_s: float | None = None  # what opening the connection cost after due; 0.0 when one was open
    ttft_s: float | None = None
    e2e_s: float | None = None  # due to the last content chunk
    decode_s: float | None = None  # first to last content chunk
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    chunks: int = 0
    coalesced: int = 0  # content events whose time is an upper bound: one read gave several, or it came late
    itl_s: tuple[float, ...] = ()
    finish_reason: str | None = None
    http_status: int | None = None
    error_kind: str | None = None  # "http 500", "context too long", "stream error", "connection", "timeout", ...
    retried: int | None = None  # times it was sent again because the server was busy; its TTFT has the waiting
    error: str | None = None  # the server's or system's own words, one line
    text: str | None = None  # None when the run keeps no text
    reasoning: str | None = None
    tool_calls: str | None = None
    text_sha256: str | None = None
    # From the engine's own `metrics` object (--enable-per-request-metrics), seconds.
    server_queue_s: float | None = None
    server_prefill_s: float | None = None  # vLLM's time_to_first_token_ms: first scheduled -> first token
    server_decode_s: float | None = None
    drafts: int | None = None  # steps that verified a proposal
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    acceptance_histogram: tuple[int, ...] = ()  # at j: steps of `drafts` that accepted j draft tokens

    @property
    def reuse(self) -> Reuse:
        return classify(self.cached_tokens, self.prompt_tokens)

    @property
    def tpot_s(self) -> float | None:
        """(last token - first token) / (output tokens - 1); None under two tokens."""
        if self.decode_s is None or self.output_tokens is None or self.output_tokens < 2:
            return None
        return self.decode_s / (self.output_tokens - 1)

    def to_json(self) -> dict[str, Any]:
        """The line's object, without what is unknown."""
        return {k: v for k in _NAMES if (v := getattr(self, k)) is not None and v != ()}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> "Outcome":
        """Rebuild from a line; keys of newer versions are ignored."""
        values = {k: v for k, v in row.items() if k in _NAMES}
        for name in ("itl_s", "acceptance_histogram"):
            values[name] = tuple(values.get(name) or ())
        return cls(**values)


_NAMES = dict.fromkeys(f.name for f in fields(Outcome))  # in order, and quick to look up
