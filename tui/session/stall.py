"""Does a busy engine still make progress? ``/health`` says 200 even when a worker hangs."""

from dataclasses import dataclass

LEAST_S = 30.0  # a cold 4,000-token prefill is 13 silent seconds on two cores
TIMES = 5.0  # the longest step seen


@dataclass(slots=True)
class Stall:
    """Fed with what was seen; a stall is told once, and again after progress.

    Progress is a changed counter of the engine or a new content chunk of the replay. With requests running and
    none of either for 30 s, or five times the longest step seen, whichever is longer, the engine hangs.
    """

    longest_step_s: float = 0.0
    told: bool = False
    _since: float | None = None  # the last progress, or the first sight of running requests

    @property
    def limit_s(self) -> float:
        return max(LEAST_S, TIMES * self.longest_step_s)

    def see(self, now: float, running: bool, progress: bool) -> float | None:
        """Seconds without progress, once they pass the limit; None otherwise. `now` is of a monotonic clock."""
        if not running:
            self._since, self.told = None, False
            return None
        if progress or self._since is None:
            if self._since is not None:
                self.longest_step_s = max(self.longest_step_s, now - self._since)
            self._since, self.told = now, False
            return None
        silent = now - self._since
        if self.told or silent < self.limit_s:
            return None
        self.told = True
        return silent
