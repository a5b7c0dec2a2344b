"""What to record, from where, into what."""

from dataclasses import asdict, dataclass
from typing import Any

DEFAULT_LISTEN = ("127.0.0.1", 8001)


@dataclass(frozen=True, slots=True)
class RecordSpec:
    """`timeout_s` is how long the upstream may be silent, `connect_s` how long connecting to it may take.

    `append` continues an existing recording, `force` replaces it. `count_s` bounds the counting of tokens at the end.
    """

    upstream: str
    out_path: str
    host: str = DEFAULT_LISTEN[0]
    port: int = DEFAULT_LISTEN[1]
    append: bool = False
    force: bool = False
    mask_secrets: bool = False
    timeout_s: float = 600.0
    connect_s: float = 10.0
    count_s: float = 60.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
