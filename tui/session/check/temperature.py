"""Which requests have one right answer."""

from collections.abc import Iterable

from tui.traffic.recording import Request


def greedy_ids(requests: Iterable[Request]) -> list[str]:
    """Requests at temperature 0, whose answers chance may change at ties only. Unset is the engine's own: sampled."""
    return [r.id for r in requests if r.body.get("temperature") == 0 and r.body.get("n") in (None, 1)]
