"""What a replay is asked to do; travels as JSON to the child process."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """`model` None keeps the recorded model names; `api_key_env` names a variable, the key itself never travels here.

    `cache_salt` makes a cold name space for this run, `fix_lengths` forces every answer to its recorded length,
    `live_turns` puts the engine's own answers into later turns, `timeout_s` is the limit of one request from due.
    `loop` is how often the whole recording is sent; later passes have ids such as ``r1~2``. `retry` is how often a
    request is sent again that a busy server refused (429, 503). `unsent` has, by recorded id, why a request is known
    not to fit: it fails as "context too long" without being sent.
    """

    url: str
    model: str | None
    recording_path: str
    out_path: str
    pace: str = "recorded"
    speed: float = 1.0
    limit: int | None = None
    seed: int = 0
    cache_salt: str | None = None
    fix_lengths: bool = False
    live_turns: bool = False
    fail_fast: bool = False
    keep_text: bool = True
    api_key_env: str | None = None
    timeout_s: float = 600.0
    loop: int = 1
    retry: int = 0
    unsent: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
