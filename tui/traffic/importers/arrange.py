"""Orders what was kept by time, spreads ties and caps gaps."""

import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from tui.errors import VtuneError
from tui.traffic.importers.clock import Clock
from tui.traffic.importers.kept import Kept
from tui.traffic.importers.options import Options
from tui.traffic.importers.report import Report, counted

APART_S = 1.0  # between requests of a source without times
WEEK_S = 7 * 86400.0
LONG_GAP_S = 86400.0
LONGEST_S = 1e10  # what a recording can hold


@dataclass(slots=True)
class Arranged:
    """`order` are request numbers by time, `at` is by request number, in seconds from the first."""

    order: list[int]
    at: "array[float]"
    timed: bool


def arrange(kept: Kept, clock: Clock, previous: dict[int, int], options: Options, report: Report) -> Arranged:
    """Rows without a time that follow another get its time and their think time; the rest is left out by the caller."""
    count = len(kept)
    sound = [clock.values[i] for i in range(count) if clock.known[i]]
    if not sound:
        return _untimed(kept, previous, report)
    lowest, highest = min(sound), max(sound)
    unit, scale, assumed = clock.unit(lowest, highest, len(sound))
    if (highest - lowest) * scale >= LONGEST_S:
        years = (highest - lowest) * scale / (365.25 * 86400)
        raise VtuneError(
            f"times that span {years:,.0f} years in {unit}", "name their unit with --time-unit, or mend the odd ones"
        )
    at = array("d", ((value - lowest) * scale for value in clock.values))
    _derive(at, clock.known, kept, previous)
    order = sorted((i for i in range(count) if clock.known[i]), key=at.__getitem__)
    before = sum(1 for value in sound if clock.base + value < 0)
    report.time = {
        "unit": unit, "assumed": assumed, "span_s": 0.0, "rate_per_s": None,
        "ties": _ties(order, at), "reordered": _reordered(at, clock.known), "started_at": clock.started_at(lowest),
    }  # fmt: skip
    if report.time["reordered"]:
        zero = f", {before} of them before zero" if before else ""
        report.notes.append(f"{counted(report.time['reordered'], 'line goes', 'lines go')} back in time{zero}; sorted")
    _change(order, at, options, report)
    _judge(order, at, report)
    return Arranged(order, at, True)


def _untimed(kept: Kept, previous: dict[int, int], report: Report) -> Arranged:
    at, known, first = array("d", bytes(8 * len(kept))), bytearray(len(kept)), 0.0
    for number in range(len(kept)):
        if not (number in previous and number in kept.thinks):
            at[number], known[number] = first, 1
            first += APART_S
    _derive(at, known, kept, previous)
    order = sorted(range(len(kept)), key=at.__getitem__)
    span = at[order[-1]] if order else 0.0
    report.time = {
        "unit": None, "assumed": f"no times: placed {APART_S:g} s apart in the order of the file",
        "span_s": round(span, 6),
        "rate_per_s": None, "ties": 0, "reordered": 0, "started_at": None,
    }  # fmt: skip
    report.lack("arrival times", "studies at the recorded pace (use --pace constant:R or closed:N)")
    return Arranged(order, at, False)


def _derive(at: "array[float]", known: bytearray, kept: Kept, previous: dict[int, int]) -> None:
    """A turn without a time of its own is due a think time after the turn before it."""
    for number in range(len(at)):
        turn = previous.get(number)
        if not known[number] and turn is not None and known[turn] and number in kept.thinks:
            at[number] = at[turn] + kept.lasted.get(turn, 0.0) + kept.thinks[number]
            known[number] = 1


def _change(order: list[int], at: "array[float]", options: Options, report: Report) -> None:
    if options.spread_ties and (moved := _spread(order, at, options.spread_ties, options.seed)):
        report.notes.append(
            f"{moved} requests that shared a time were spread ({options.spread_ties}) up to the next time"
        )
    if options.max_gap_s is not None and (capped := _cap(order, at, options.max_gap_s)):
        report.notes.append(f"{capped} gaps over {options.max_gap_s:g} s were shortened to it")


def _judge(order: list[int], at: "array[float]", report: Report) -> None:
    span = at[order[-1]] if order else 0.0
    report.time["span_s"] = round(span, 6)
    if span > 0:
        report.time["rate_per_s"] = round((len(order) - 1) / span, 6)
    if report.time["ties"]:
        report.notes.append(f"{report.time['ties']} requests share their time with another; --spread-ties spreads them")
    gap = max((at[b] - at[a] for a, b in zip(order, order[1:], strict=False)), default=0.0)
    if gap > LONG_GAP_S:
        report.notes.append(f"a gap of {gap / LONG_GAP_S:.1f} days: --max-gap SECONDS shortens it")
    if span > WEEK_S:
        report.notes.append(f"it spans {span / LONG_GAP_S:.1f} days: is the unit of time right? --time-unit overrules")
    if len(order) > 20 and 0 < span < len(order) * 1e-3:
        report.notes.append("over 1,000 requests a second: is the unit of time right? --time-unit overrules")


def _groups(order: list[int], at: "array[float]") -> Iterator[tuple[int, int]]:
    """(start, end) in `order` of each run of equal times."""
    start = 0
    for place in range(1, len(order) + 1):
        if place == len(order) or at[order[place]] != at[order[start]]:
            yield start, place
            start = place


def _ties(order: list[int], at: "array[float]") -> int:
    return sum(end - start for start, end in _groups(order, at) if end - start > 1)


def _reordered(at: "array[float]", known: bytearray) -> int:
    times = [at[i] for i in range(len(at)) if known[i]]
    return sum(1 for before, after in zip(times, times[1:], strict=False) if after < before)


def _spread(order: list[int], at: "array[float]", how: str, seed: int) -> int:
    """Place requests of one time over the gap to the next; the last group takes the mean gap."""
    draw, moved = random.Random(seed), 0
    groups = list(_groups(order, at))
    mean = at[order[-1]] / (len(groups) - 1) if len(groups) > 1 else APART_S
    starts = [at[order[start]] for start, _ in groups]
    for index, (start, end) in enumerate(groups):
        size = end - start
        if size == 1:
            continue
        gap = starts[index + 1] - starts[index] if index + 1 < len(groups) else mean
        shares = [k / size for k in range(size)] if how == "even" else sorted(draw.random() for _ in range(size))
        for place, share in zip(range(start, end), shares, strict=True):
            at[order[place]] = starts[index] + share * gap
        moved += size
    return moved


def _cap(order: list[int], at: "array[float]", longest: float) -> int:
    capped, shift, before = 0, 0.0, None
    for number in order:
        now = at[number]
        if before is not None and now - before > longest:
            shift += now - before - longest
            capped += 1
        before = now
        at[number] = now - shift
    return capped
