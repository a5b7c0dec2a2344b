"""The engines of several URLs as one scrape, where vtune owns none of them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui.metrics.buckets import Buckets
from tui.metrics.scrape import Scrape, Scraper

if TYPE_CHECKING:
    import httpx


class Several:
    """Asks every URL at once; engines are named HOST:PORT/ENGINE, so that two with the same number stay apart."""

    def __init__(self, client: "httpx.AsyncClient", urls: Sequence[str], buckets: bool = False) -> None:
        self._scrapers = {urlsplit(url).netloc: Scraper(url, client, buckets=buckets) for url in urls}
        self.last: Scrape | None = None

    @property
    def error(self) -> str | None:
        """What is wrong with the URLs that gave nothing; None while one of them does."""
        wrong = [f"{place}: {one.error}" for place, one in self._scrapers.items() if one.error]
        return "; ".join(wrong) if len(wrong) == len(self._scrapers) else None

    async def once(self) -> Scrape | None:
        """One scrape of all that answer, or None. A router among them has no engine of its own."""
        found = await asyncio.gather(*(one.once() for one in self._scrapers.values()))
        told = {place: scrape for place, scrape in zip(self._scrapers, found, strict=True) if scrape is not None}
        if not told:
            return None
        engines = [
            replace(sample, engine=f"{place}/{sample.engine}") for place, s in told.items() for sample in s.engines
        ]
        started = [scrape.started_at for scrape in told.values() if scrape.started_at is not None]
        newest = max(scrape.t for scrape in told.values())
        ordered = tuple(sorted(engines, key=lambda sample: (len(sample.engine), sample.engine)))
        self.last = Scrape(newest, ordered, max(started, default=None), _together(told.values()))
        return self.last


def _together(scrapes: Iterable[Scrape]) -> Buckets:
    """Bucket by bucket, where all have the same bounds."""
    known = [scrape.ttft_buckets for scrape in scrapes if scrape.ttft_buckets]
    if not known or any([b for b, _ in one] != [b for b, _ in known[0]] for one in known):
        return ()
    return tuple((column[0][0], sum(count for _, count in column)) for column in zip(*known, strict=True))


AnyScraper = Scraper | Several


def scraper(client: "httpx.AsyncClient", urls: Sequence[str], buckets: bool = False) -> AnyScraper:
    return Scraper(urls[0], client, buckets=buckets) if len(urls) == 1 else Several(client, urls, buckets)
