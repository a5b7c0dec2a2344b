"""The `lab` block of a vtune.comparison/1, from the journal's lab event and the replays.

`study`, `scale`, `cut` (the whole of it would take over ten minutes here), `requests` a replay, `control_requests`,
`notes`, `estimate_s`, `sentences`: what was found, in words; and what belongs to the study: see `reuse` (`prompt`,
`warm`, `cold`, `control`), `tradeoff` (`table`, `chosen`, `longer`) and `payoff` (`table`).
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
    names = ("study", "scale", "cut", "requests", "notes", "estimate_s")
    controls = (event["control"] or {}).get("requests")
    lab = {**{name: event[name] for name in names}, "control_requests": controls, **told}
    return {**found, "caveats": [*found["caveats"], *_cut(event), *caveats], "lab": lab}


def _cut(event: Mapping[str, Any]) -> list[str]:
    if event["scale"] == 1:
        return []
    why = ": at full scale it would take over ten minutes here" if event["cut"] else ""
    return [f"scale {event['scale']:g}: {event['requests']} requests a replay instead of the full number{why}"]
