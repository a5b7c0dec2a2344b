"""The `lab` block of a vtune.comparison/1, from the journal's lab event and the replays.

`study`, `scale`, `asked` (the scale was given), `cut` (the whole would take over ten minutes here), `requests` a
replay, `control_requests`, `notes`, `estimate_s`; `headline` and `sentences`: what was found, in words; and what
belongs to the study: see `reuse` (`prompt`, `warm`, `cold`, `control`), `tradeoff` (`table`, `chosen`, `longer`,
`baseline`) and `payoff` (`table`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tui.session.compare.pairing import Replayed
from tui.session.lab import payoff, reuse, tradeoff

_BLOCKS = {"prefix": reuse.block, "chunked": tradeoff.block, "speculative": payoff.block}


def with_lab(
    found: Mapping[str, Any], event: Mapping[str, Any], replays: Sequence[Replayed], control: Replayed | None
) -> dict[str, Any]:
    """`found` is the comparison, `event` the journal's lab event; a study of a newer version has no findings."""
    block = _BLOCKS.get(event["study"])
    told = block(found, replays, control) if block and any(r.whole for r in replays) else {"sentences": []}
    caveats = told.pop("caveats", [])
    if event["control"] and control is None:
        caveats = [*caveats, "the control was not made"]
    names = ("study", "scale", "asked", "cut", "requests", "notes", "estimate_s")
    controls = (event["control"] or {}).get("requests")
    lab = {**{name: event.get(name) for name in names}, "control_requests": controls, **told}
    return {**found, "caveats": [*found["caveats"], *_cut(event), *caveats], "lab": lab}


def _cut(event: Mapping[str, Any]) -> list[str]:
    if event["scale"] == 1:
        return []
    why = "as asked" if event.get("asked") else "for the whole of it would take over ten minutes here"
    return [f"scale {event['scale']:g}, {why}: {event['requests']} requests a replay are not the full number"]
