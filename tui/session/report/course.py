"""What the engine did over a run: KV cache usage, hit rate and acceptance, by its counters between scrapes."""

from dataclasses import dataclass

from tui.metrics.window import ratio
from tui.session.report.figures import UNKNOWN, number, share
from tui.session.report.markdown import fence
from tui.session.report.material import RunMaterial
from tui.session.report.sparkline import COLUMNS, Point, sparkline

_NICE = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Line:
    """`points` in time from the start of the run (s); values from 0 to `top`; `role` names its colour."""

    name: str
    role: str
    points: tuple[Point, ...]
    top: float
    told: str  # its figure over the whole run, and its scale

    @property
    def known(self) -> bool:
        return any(value is not None for _, value in self.points)


def lines(run: RunMaterial) -> list[Line]:
    """Those of which anything was measured. A lever that is off has none."""
    windows = [step for step in run.record.trace.windows() if step.t > run.record.started_at]
    begun, result = run.record.started_at, run.result
    cache, speculative, kv = result["prefix_cache"], result["speculative"], result["kv_cache"]
    usage = tuple((step.t - begun, step.kv_usage) for step in windows)
    rates = tuple((step.t - begun, ratio(step.output, step.seconds)) for step in windows)
    fastest = max((value for _, value in rates if value is not None), default=0.0)
    top = next((top for top in _NICE if top >= max((v for _, v in usage if v is not None), default=0.0)), 1.0)
    found = [
        Line("KV cache usage", "kv", usage, top,
             f"peak {share(kv['usage_peak'])}, mean {share(kv['usage_mean'])}; scale to {100 * top:.0f} %"),
        Line("output tokens/s", "rate", rates, fastest or 1.0, f"highest {number(fastest)}"),
    ]  # fmt: skip
    if cache["state"] != "off":
        hits = tuple((step.t - begun, ratio(step.hits, step.queries)) for step in windows)
        found.insert(1, Line("prefix hit rate", "warm", hits, 1.0, f"run {share(cache['hit_rate'])}; scale to 100 %"))
    if speculative["state"] != "off":
        accepted = tuple((step.t - begun, ratio(step.accepted, step.drafted)) for step in windows)
        rate = speculative["acceptance_rate"]
        found.insert(-1, Line("acceptance", "partial", accepted, 1.0, f"run {share(rate)}; scale to 100 %"))
    return [line for line in found if line.known]


def length(run: RunMaterial) -> float:
    """Seconds from the start of the run to the last scrape that the lines show."""
    return max((line.points[-1][0] for line in lines(run)), default=0.0)


def section(run: RunMaterial) -> str:
    """Text lines under one time axis; nothing where the counters are unknown."""
    found = lines(run)
    if not found:
        return ""
    end = length(run)
    name = max(len(line.name) for line in found)
    rows = [f"{line.name:<{name}} │{sparkline(line.points, 0.0, end, line.top)}│ {line.told}" for line in found]
    axis = f"{'':<{name}}  {'0:00':<{COLUMNS - 8}}{clock(end):>8}"
    return fence("\n".join([*rows, axis.rstrip()]))


def clock(seconds: float) -> str:
    """``1:35``, or a word where it is not known."""
    return UNKNOWN if seconds < 0 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"
