"""Traffic that is not ours, on an engine that vtune only watches: seen between our runs, in the engine's own counts."""

from dataclasses import dataclass

from tui.metrics.buckets import Coarse, between
from tui.metrics.scrape import Scrape


@dataclass(slots=True)
class Foreign:
    """From the first scrape after our last run, or after the attachment, to the newest one.

    While a run of ours is going on nothing is said: the engine counts both together.
    """

    first: Scrape | None = None
    newest: Scrape | None = None

    def see(self, scrape: Scrape, ours: bool) -> None:
        """`ours`: a run of ours is going on."""
        if ours or not scrape.ttft_buckets:
            self.first = self.newest = None
        elif self.first is None or self.first.started_at != scrape.started_at:
            self.first = self.newest = scrape
        else:
            self.newest = scrape

    def ttft(self) -> Coarse | None:
        """TTFT as the engine counts it; None where there was no foreign request, or where it does not tell."""
        if self.first is None or self.newest is None:
            return None
        found = between(self.first.ttft_buckets, self.newest.ttft_buckets)
        return found if found is not None and found.n else None
