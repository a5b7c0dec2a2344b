"""Make the replays of a comparison, one after the other, in one session."""

import time
from collections.abc import Callable
from dataclasses import replace

from tui.errors import Exit, VtuneError
from tui.session.check.conduct import OutputCheck
from tui.session.compare.plan import Plan
from tui.session.session import Session


async def conduct(session: Session, plan: Plan, say: Callable[[str], None]) -> None:
    """Raises VtuneError (exit 3) when an arm's engine does not start or dies; what was measured is in the session."""
    traffic = session.traffic
    event = plan.event(traffic)
    session.emit("comparison", **event)
    check = OutputCheck(session, event, say) if plan.check else None
    total, begun = sum(1 for _ in plan.replays()), time.monotonic()
    for done, (number, arm) in enumerate(plan.replays()):
        if done:
            left = (time.monotonic() - begun) / done * (total - done)
            say(f"{done} of {total} replays done, about {minutes(left)} left")
        say(f"round {number} of {plan.rounds}: {arm.name}")
        session.traffic = replace(traffic, label=arm.name)
        await session.serve(arm.profile)
        await session.replay()
        await session.finished()
        engine = session.state.engine
        if engine is None or engine.state == "died":
            what, mend = (engine and engine.failure) or ("the engine is gone", f"read the log in {session.folder}")
            raise VtuneError(f"{arm.name}: {what}", mend, Exit.ENGINE)
        if check is not None:
            await check.after(done)


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
