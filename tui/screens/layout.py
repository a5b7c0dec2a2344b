"""Which areas are on screen for a size, a stage of the engine and the area in hand; pure."""

from dataclasses import dataclass
from typing import Literal

Stage = Literal["panels", "startup", "failure"]

PANELS = ("ttft", "kv", "prefix", "acceptance")
AREAS = (*PANELS, "levers", "runs", "requests")
"""In the order of the keys 1 to 7, and of tab."""

WIDE, MEDIUM, TALL = 160, 110, 30


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`size` is the class that the stylesheet knows; `one`: one area at a time."""

    size: Literal["-wide", "-medium", "-narrow"]
    one: bool
    two_line_header: bool
    shown: frozenset[str]


def arrange(width: int, height: int, stage: Stage, area: str, maximised: bool, busy: bool) -> Arrangement:
    """Everything that fits; under 110 x 30, or maximised, the area in hand alone, and the numbers if there is room."""
    size: Literal["-wide", "-medium", "-narrow"] = (
        "-wide" if width >= WIDE else "-medium" if width >= MEDIUM else "-narrow"
    )
    one = maximised or width < MEDIUM or height < TALL
    two_lines = width < MEDIUM and height >= 12
    return Arrangement(
        size, one, two_lines, frozenset(_one(height, stage, area) if one else _all(height, stage, busy, area))
    )


def _all(height: int, stage: Stage, busy: bool, area: str) -> set[str]:
    shown = {"middle", "centre", "levers", "runs"}
    if stage != "panels":
        return shown | {stage}
    shown |= {"numbers", "panels", *PANELS}
    # Without a replay the strip is empty; its rows serve the panels better unless there are plenty.
    roomy = height >= 34 if busy or area == "requests" else height >= 44
    return shown | {"requests"} if roomy else shown


def _one(height: int, stage: Stage, area: str) -> set[str]:
    names = {"areas"} if height >= 12 else set()
    if area in ("levers", "runs"):
        return names | ({area} if area == "runs" else {"middle", area})
    shown = names | {"middle", "centre"}
    if height >= 18 and stage == "panels":
        shown.add("numbers")
    if area in PANELS:
        return shown | ({"panels", area} if stage == "panels" else {stage})
    return shown | {area}
