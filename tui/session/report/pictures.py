"""The figures of a report, as SVG beside it: how TTFT is spread in each run, and what the engine did over its time."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui.session.report import course
from tui.session.report.figures import seconds
from tui.session.report.histogram import bin_of, edge
from tui.session.report.material import RunMaterial
from tui.session.report.svg import CHARACTER, Svg
from tui.traffic.outcome import REUSES

WIDTH = 880
LEFT, RIGHT = 16, 16
_ROW, _PANEL = 92, 112
_HEAD = 58
_WORDED = 4


@dataclass(frozen=True, slots=True)
class Shown:
    """A run and its name in a figure: ``run 2``, or ``B run 2`` beside those of other sessions."""

    name: str
    run: RunMaterial

    @property
    def label(self) -> str:
        return self.name + (f": {self.run.record.label}" if self.run.record.label else "")


def of(runs: Iterable[RunMaterial], session: str = "") -> list[Shown]:
    return [Shown(f"{session} run {run.number}".strip(), run) for run in runs]


def pictures(runs: Sequence[Shown]) -> dict[str, tuple[str, str]]:
    """What is drawn -> (alternative text, SVG); only figures of which something was measured."""
    found: dict[str, tuple[str, str]] = {}
    timed = [one for one in runs if _times(one.run)]
    if timed:
        found["ttft"] = (_ttft_words(timed), str(_ttft(timed)))
    traced = [one for one in runs if course.lines(one.run)]
    if traced:
        found["course"] = (_course_words(traced), str(_course(traced)))
    return found


# -- TTFT ------------------------------------------------------------------------------------------


def _times(run: RunMaterial) -> dict[str, list[float]]:
    """Class -> TTFT (s) of its requests, those that occur."""
    found: dict[str, list[float]] = {}
    for one in run.outcomes:
        if one.status == "ok" and one.ttft_s is not None:
            found.setdefault(one.reuse, []).append(one.ttft_s)
    return {reuse: found[reuse] for reuse in REUSES if reuse in found}


def _ttft_words(runs: Sequence[Shown]) -> str:
    return _alternative("TTFT of every run on one logarithmic axis", [(one.name, _told(one.run, ", ")) for one in runs])


def _alternative(first: str, told: Sequence[tuple[str, str]]) -> str:
    """What a figure shows, in words; of many runs the first few, for the text of the report has them all."""
    more = [f"and {len(told) - _WORDED} more runs"] if len(told) > _WORDED else []
    return f"{first}. {'; '.join([*(f'{name}: {words}' for name, words in told[:_WORDED]), *more])}."


def _told(run: RunMaterial, between: str) -> str:
    return between.join(
        f"{reuse} n {len(times)}, p50 {seconds(_middle(run, reuse))}" for reuse, times in _times(run).items()
    )


def _middle(run: RunMaterial, reuse: str) -> float | None:
    return run.result["ttft_s"][reuse]["p50"]


def _ttft(runs: Sequence[Shown]) -> Svg:
    """A row a run, requests stacked by class in bins of equal width on a logarithmic axis."""
    every = [value for one in runs for times in _times(one.run).values() for value in times]
    first, last = bin_of(min(every)), bin_of(max(every))
    first, last = first - 1, max(last + 1, first + 6)
    picture = Svg(WIDTH, _HEAD + _ROW * len(runs) + 30, "TTFT of every run")
    picture.text(LEFT, 24, "Time to first token", bold=True)
    picture.text(LEFT, 42, "requests by how long they waited; one logarithmic axis for all runs", "dim")
    _legend(picture, sorted({reuse for one in runs for reuse in _times(one.run)}, key=REUSES.index))
    width = (WIDTH - LEFT - RIGHT) / (last - first + 1)
    floor = _HEAD + _ROW * len(runs)
    _decades(picture, first, last, width, floor)
    for place, one in enumerate(runs):
        _row(picture, one, _HEAD + _ROW * place, first, width)
    return picture


def _legend(picture: Svg, classes: Sequence[str]) -> None:
    x = WIDTH - RIGHT
    for reuse in reversed(classes):
        picture.text(x, 24, reuse, "dim", "end")
        x -= len(reuse) * CHARACTER + 24
        picture.rect(x, 14, 11, 11, reuse)
        x -= 14


def _decades(picture: Svg, first: int, last: int, width: float, floor: float) -> None:
    """A rule and a label at 1, 2 and 5 of every decade."""
    for decade in range(first // 12, last // 12 + 1):
        for step in (1, 2, 5):
            value = step * 10.0**decade
            index = bin_of(value)
            within = math.log(value / edge(index)) / math.log(edge(index + 1) / edge(index))
            x = LEFT + (index - first + within) * width
            if LEFT + 20 <= x <= WIDTH - RIGHT - 20:
                picture.line(x, _HEAD, x, floor, "grid")
                picture.text(x, floor + 16, _tick(value), "dim", "middle")


def _tick(value: float) -> str:
    return f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms" if value >= 0.001 else f"{value * 1e6:g} µs"


def _row(picture: Svg, shown: Shown, top: float, first: int, width: float) -> None:
    times = _times(shown.run)
    bins: dict[int, dict[str, int]] = {}
    for reuse, values in times.items():
        for value in values:
            found = bins.setdefault(bin_of(value), {})
            found[reuse] = found.get(reuse, 0) + 1
    highest = max(sum(counts.values()) for counts in bins.values())
    floor, room = top + _ROW - 6, _ROW - 34
    picture.line(LEFT, floor, WIDTH - RIGHT, floor, "edge")
    for index, counts in sorted(bins.items()):
        y = floor
        for reuse in REUSES:
            height = room * counts.get(reuse, 0) / highest
            y -= height
            picture.rect(LEFT + (index - first) * width + 0.5, y, width - 1, height, reuse)
    _headed(picture, top, shown.label, _told(shown.run, " · "))


def _headed(picture: Svg, top: float, label: str, told: str) -> None:
    picture.text(WIDTH - RIGHT, top + 16, told, "dim", "end")
    picture.text(LEFT, top + 16, label, bold=True, room=WIDTH - LEFT - RIGHT - 20 - len(told) * CHARACTER)


# -- the course ------------------------------------------------------------------------------------

_DASHES = {"warm": "6 3", "partial": "2 3"}


def _course_words(runs: Sequence[Shown]) -> str:
    first = "KV cache usage, prefix hit rate and acceptance over the time of every run"
    return _alternative(first, [(one.name, _figures(one.run, ", ")) for one in runs])


def _figures(run: RunMaterial, between: str) -> str:
    shown = [line for line in course.lines(run) if line.role != "rate"]
    return between.join(f"{line.name} {line.told.partition(';')[0]}" for line in shown)


def _course(runs: Sequence[Shown]) -> Svg:
    """A panel a run, all on one scale of time; the axis is 0 to 100 %."""
    longest = max(course.length(one.run) for one in runs)
    picture = Svg(WIDTH, _HEAD + _PANEL * len(runs) + 12, "KV cache usage, hit rate and acceptance of every run")
    picture.text(LEFT, 24, "What the engine did", bold=True)
    picture.text(LEFT, 42, "0 to 100 %, by its counters between scrapes; one scale of time for all runs", "dim")
    x = WIDTH - RIGHT
    for name, role in (("acceptance", "partial"), ("prefix hit rate", "warm"), ("KV cache usage", "kv")):
        picture.text(x, 24, name, "dim", "end")
        x -= len(name) * CHARACTER + 6
        picture.path([(x - 28, 20), (x - 8, 20)], role, _DASHES.get(role, ""))
        x -= 42
    for place, one in enumerate(runs):
        _panel(picture, one, _HEAD + _PANEL * place, longest)
    return picture


def _panel(picture: Svg, one: Shown, top: float, longest: float) -> None:
    run = one.run
    left = LEFT + 38
    floor, room, span = top + _PANEL - 22, _PANEL - 50, WIDTH - RIGHT - left
    shown = [line for line in course.lines(run) if line.role != "rate"]
    _headed(picture, top, one.label, _figures(run, " · "))
    for part, words in ((0.0, "0"), (0.5, "50"), (1.0, "100 %")):
        y = floor - room * part
        picture.line(left, y, WIDTH - RIGHT, y, "edge" if part == 0 else "grid")
        picture.text(left - 5, y + 4, words, "dim", "end")
    for line in shown:
        for piece in _pieces(line):
            points = [(left + span * t / longest, floor - room * min(1.0, value)) for t, value in piece]
            if line.role == "kv":
                picture.area(points, floor, line.role)
            picture.path(points, line.role, _DASHES.get(line.role, ""))
    picture.text(left, floor + 15, "0:00", "dim")
    end = left + span * course.length(run) / longest
    picture.text(end, floor + 15, course.clock(course.length(run)), "dim", "end")


def _pieces(line: course.Line) -> list[list[tuple[float, float]]]:
    """As steps, for a value is that of the span before it; without the times in which nothing was measured."""
    found: list[list[tuple[float, float]]] = [[]]
    before = 0.0
    for t, value in line.points:
        if value is None:
            found.append([])
        else:
            found[-1] += [(before, value), (t, value)]
        before = t
    return [piece for piece in found if piece]
