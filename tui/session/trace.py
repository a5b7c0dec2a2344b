"""The course of a run in the engine's counters, bounded in memory however long the run."""

from dataclasses import dataclass, field

from tui.metrics.scrape import Scrape
from tui.metrics.window import Window
from tui.session.snapshot import Points

MOST = 1024  # steps kept; when full, neighbours are merged
WINDOW_S = 2.0  # the least span over which a rate is shown: one scrape sees too few requests
COLUMNS = 240  # no screen has more


@dataclass(slots=True)
class Step:
    """What was counted between two scrapes that end at `t` (epoch seconds)."""

    t: float
    seconds: float
    kv_usage: float | None
    queries: int
    hits: int
    drafted: int
    accepted: int
    output: int
    prompt: int
    steps: int = 0  # of all requests together: ITL and TTFT observations

    def __add__(self, later: "Step") -> "Step":
        usage = [u for u in (self.kv_usage, later.kv_usage) if u is not None]
        return Step(
            later.t, self.seconds + later.seconds, max(usage, default=None), self.queries + later.queries,
            self.hits + later.hits, self.drafted + later.drafted, self.accepted + later.accepted,
            self.output + later.output, self.prompt + later.prompt, self.steps + later.steps,
        )  # fmt: skip


@dataclass(slots=True)
class Trace:
    """Fed with every scrape of a run; `total` is the window over all of them."""

    first: Scrape | None = None
    last: Scrape | None = None
    total: Window = field(default_factory=Window)
    steps: list[Step] = field(default_factory=list, compare=False)  # of an earlier run: forgotten
    kv_peak: float | None = None
    peaks: dict[str, float] = field(default_factory=dict)  # of each engine behind the URL

    def add(self, scrape: Scrape) -> None:
        """Scrapes come in the order of their time."""
        before, self.last = self.last, scrape
        usage = scrape.kv_usage
        if usage is not None:
            self.kv_peak = usage if self.kv_peak is None else max(self.kv_peak, usage)
        for engine in scrape.engines:
            if engine.kv_usage is not None:
                self.peaks[engine.engine] = max(engine.kv_usage, self.peaks.get(engine.engine, 0.0))
        if before is None:
            self.first = scrape
            return
        window = Window.over((before, scrape))
        self.total = self.total + window
        self.steps.append(
            Step(
                scrape.t, window.seconds, usage, window.prefix_queries or 0, window.prefix_hits or 0,
                window.spec_draft_tokens or 0, window.spec_accepted_tokens or 0, window.generation_tokens or 0,
                window.prompt_tokens or 0, (window.itl_count or 0) + (window.ttft_count or 0),
            )
        )  # fmt: skip
        if len(self.steps) >= MOST:
            self.steps = [a + b for a, b in zip(self.steps[::2], self.steps[1::2], strict=True)]

    def windows(self) -> list[Step]:
        """The steps merged into windows of at least `WINDOW_S`, no more than a screen has columns."""
        if not self.steps:
            return []
        span = max(WINDOW_S, (self.steps[-1].t - self.steps[0].t) / COLUMNS)
        merged: list[Step] = []
        current: Step | None = None
        for step in self.steps:
            current = step if current is None else current + step
            if current.seconds >= span:
                merged.append(current)
                current = None
        return merged if current is None else [*merged, current]

    def usage(self) -> Points:
        return tuple((step.t, step.kv_usage) for step in self.windows())
