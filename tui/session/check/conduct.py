"""When a comparison asks its engines about the answers: after an arm's last replay, and at the end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tui.session.check import answer as answers
from tui.session.check import asker as asking
from tui.session.check.asker import Asker
from tui.session.session import Session
from tui.traffic.outcome import Outcome
from tui.traffic.replay.runfile import read_outcomes


@dataclass
class OutputCheck:
    """`plan` is the journal's comparison event. The engine that serves is that of the arm replayed last."""

    session: Session
    plan: dict[str, Any]
    say: Callable[[str], None]
    _controlled: bool = field(default=False)

    async def after(self, place: int) -> None:
        """Call when the replay at `place` of the order has ended and its engine still serves."""
        order, session = self.plan["order"], self.session
        arm, launch, applied = order[place], session.host.launch, session.host.applied
        if launch is None or applied is None or arm in order[place + 1 :]:
            return
        requests = {r.id: r for r in session.traffic.recording.requests}
        asker = Asker(session.emit, session.runner.client, launch.url, launch.model, requests)
        if not self._controlled and applied.levers.get("prefix-caching") == "on" and self._best_place(arm):
            self._controlled = True
            run = place + 1
            self.say("output check: the same prompts cold and warm")
            await asker.cold_and_warm(arm, run, self._outcomes(run), self.plan["greedy"], applied.block_size)
        if place == len(order) - 1:
            await self._ask_baseline(asker)

    def _best_place(self, arm: str) -> bool:
        """The control belongs on the baseline; on another arm only where the baseline has no prefix cache."""
        base = self.plan["baseline"]
        first = self.session.state.engines[self.session.state.runs[1].engine]
        return arm == base or first.applied.get("prefix-caching") != "on"

    async def _ask_baseline(self, asker: Asker) -> None:
        base, greedy = self.plan["baseline"], self.plan["greedy"]
        found = answers.distinct((arm, n, self._outcomes(n)) for n, arm in enumerate(self.plan["order"], 1))
        if base not in found:
            return
        sampled = [i for i in found[base] if i not in set(greedy)]
        self.say("output check: the baseline's engine is asked about answers that differ")
        await asker.forks(asking.parting_pairs(found, base, greedy))
        await asker.likelihoods(asking.to_score(found, base, sampled))

    def _outcomes(self, run: int) -> list[Outcome]:
        path = self.session.folder / f"run-{run}.jsonl"
        return read_outcomes(path)[1] if path.is_file() else []
