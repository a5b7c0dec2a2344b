"""What an engine's /metrics said at one moment, and the scraper that asks."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from tui.metrics.buckets import Buckets, ttft_buckets
from tui.metrics.counters import Counters
from tui.metrics.exposition import Exposition

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class EngineSample(Counters):
    """One engine of a server (the label `engine`): its counters since its start, and its gauges."""

    engine: str
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None  # 0..1; cached blocks that nobody uses count as free
    cache_config: Mapping[str, str] | None = field(default=None, hash=False)  # labels of cache_config_info

    def to_json(self) -> dict[str, Any]:
        """What is known, without the engine's own name."""
        return self.changes(EngineSample(self.engine))

    def changes(self, previous: "EngineSample") -> dict[str, Any]:
        """The fields that differ from `previous`; None where one is gone."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name in _FIELDS
            if (value := getattr(self, name)) != getattr(previous, name)
        }

    def apply(self, row: Mapping[str, Any]) -> "EngineSample":
        """This sample with the changes of `row`; keys of newer versions are ignored."""
        if not row:
            return self
        values = {name: row[name] if name in row else getattr(self, name) for name in _FIELDS}
        values["spec_accepted_per_pos"] = tuple(values["spec_accepted_per_pos"] or ())
        return EngineSample(self.engine, **values)


_FIELDS = tuple(f.name for f in fields(EngineSample) if f.name != "engine")


@dataclass(frozen=True, slots=True)
class Scrape:
    """All engines of one server at `t` (epoch seconds)."""

    t: float
    engines: tuple[EngineSample, ...] = ()
    started_at: float | None = None  # epoch seconds of the server process; tells a restart from a pause
    ttft_buckets: Buckets = ()  # of all engines together; only where it was asked for (`Scraper`)

    @property
    def running(self) -> int | None:
        return self.total("running")

    @property
    def waiting(self) -> int | None:
        return self.total("waiting")

    @property
    def kv_usage(self) -> float | None:
        """Usage of the fullest engine, 0..1: a sum or mean over engines would hide a full one."""
        return self.hottest.kv_usage if self.hottest else None

    @property
    def hottest(self) -> EngineSample | None:
        """The engine whose KV pool is fullest; None where none tells."""
        known = [e for e in self.engines if e.kv_usage is not None]
        return max(known, key=lambda e: e.kv_usage or 0.0, default=None)

    @property
    def cache_config(self) -> Mapping[str, str]:
        """The first engine's cache configuration; empty where it is not told."""
        return next((e.cache_config for e in self.engines if e.cache_config), {})

    def total(self, name: str) -> Any:
        """Sum of a field over the engines that tell it; None where none does."""
        known = [value for e in self.engines if (value := getattr(e, name)) is not None]
        return sum(known) if known else None

    def engine(self, name: str) -> EngineSample | None:
        return next((e for e in self.engines if e.engine == name), None)

    def only(self, name: str) -> "Scrape":
        """This scrape as if that engine were alone."""
        return Scrape(self.t, tuple(e for e in self.engines if e.engine == name), self.started_at)

    def to_json(self) -> dict[str, Any]:
        return self.changes(NOTHING)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Scrape":
        return NOTHING.apply(row)

    def changes(self, previous: "Scrape") -> dict[str, Any]:
        """A JSON object from which `previous.apply` makes this scrape again."""
        row: dict[str, Any] = {"t": self.t}
        if self.started_at != previous.started_at:
            row["started_at"] = self.started_at
        if self.ttft_buckets != previous.ttft_buckets:
            row["ttft_buckets"] = [list(bucket) for bucket in self.ttft_buckets]
        engines: dict[str, Any] = {}
        for sample in self.engines:
            before = previous.engine(sample.engine)
            changed = sample.changes(before or EngineSample(sample.engine))
            if changed or before is None:
                engines[sample.engine] = changed
        gone = {e.engine: None for e in previous.engines if self.engine(e.engine) is None}
        if engines or gone:
            row["engines"] = engines | gone
        return row

    def apply(self, row: Mapping[str, Any]) -> "Scrape":
        """The scrape that follows this one, from its `changes`."""
        changed = row.get("engines", {})
        kept = [e.apply(changed.get(e.engine, {})) for e in self.engines if changed.get(e.engine, ()) is not None]
        new = [
            EngineSample(name).apply(sample)
            for name, sample in changed.items()
            if sample is not None and self.engine(name) is None
        ]
        engines = tuple(sorted([*kept, *new], key=_order))
        buckets = row.get("ttft_buckets")
        kept_buckets = self.ttft_buckets if buckets is None else tuple((le, count) for le, count in buckets)
        return Scrape(row["t"], engines, row.get("started_at", self.started_at), kept_buckets)


def _order(sample: EngineSample) -> tuple[int, str]:
    return (len(sample.engine), sample.engine)  # "2" before "10"


NOTHING = Scrape(0.0)


def read(text: str, t: float, exposition: Exposition | None = None) -> Scrape:
    """The scrape in a Prometheus text. Engines come sorted; a text without vLLM metrics has none."""
    values, started_at = (exposition or Exposition()).read(text)
    engines = tuple(sorted((EngineSample(name, **v) for name, v in values.items()), key=_order))
    return Scrape(t, engines, started_at)


class Scraper:
    """Asks one server for its metrics. A slow or dead server gives None and a word in `error`."""

    def __init__(
        self,
        url: str,
        client: "httpx.AsyncClient",
        timeout_s: float = 2.0,
        clock: Callable[[], float] = time.time,
        buckets: bool = False,
    ) -> None:
        """With `buckets`, those of TTFT are read too, for traffic that is not ours."""
        self._buckets = buckets
        self._url = url.rstrip("/") + "/metrics"
        self._client = client
        self._timeout = timeout_s
        self._clock = clock
        self._exposition = Exposition()
        self.last: Scrape | None = None
        self.error: str | None = None

    def age_s(self) -> float | None:
        """Seconds since the newest scrape; None before the first."""
        return None if self.last is None else max(0.0, self._clock() - self.last.t)

    async def once(self) -> Scrape | None:
        """One scrape, or None; `last` keeps the newest and `error` says what was wrong."""
        text = await self._fetch()
        if text is None:
            return None
        scrape = read(text, self._clock(), self._exposition)
        if not scrape.engines:
            self.error = "no vLLM metrics there (is --disable-log-stats set?)"
            return None
        self.error = None
        self.last = replace(scrape, ttft_buckets=ttft_buckets(text)) if self._buckets else scrape
        return self.last

    async def _fetch(self) -> str | None:
        import httpx  # here, for whoever only reads a session back does not need its 80 ms

        # Plain text and no compression: OpenMetrics has another grammar, and gzip costs the engine's own core.
        headers = {"Accept": "text/plain", "Accept-Encoding": "identity"}
        try:
            answer = await self._client.get(self._url, headers=headers, timeout=self._timeout)
        except httpx.TimeoutException:
            self.error = f"no answer within {self._timeout:g} s"
            return None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self.error = str(error) or type(error).__name__
            return None
        if answer.status_code != 200:
            self.error = f"HTTP {answer.status_code}"
            return None
        return answer.text
