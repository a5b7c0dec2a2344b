"""Carry a lab out: the comparison, then the control."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tui.errors import Exit, VtuneError
from tui.session import journal
from tui.session.compare.conduct import conduct as compare
from tui.session.lab import speed
from tui.session.lab.prepare import Lab, traffic
from tui.session.session import Session


def session_of(lab: Lab, folder: Path) -> Session:
    """Writes the lab's recording into `folder` and opens a session there. VtuneError where one is there already."""
    if (folder / journal.NAME).exists():
        raise VtuneError(f"{folder} holds a session already", "name another folder; `vtune report` reads that one")
    return Session(lab.plan.arms[0].profile, traffic(lab, lab.study.requests(lab.scale), folder), folder)


async def conduct(session: Session, lab: Lab, say: Callable[[str], None]) -> None:
    """As the comparison's own: VtuneError (exit 3) when an engine does not start or dies; what was measured is kept."""
    sent, control = session.traffic, lab.control()
    beside = traffic(lab, control[2], session.folder, control[0]) if control else None
    session.emit("lab", **lab.event(sent, beside))
    await compare(session, lab.plan, say)
    if control is not None and beside is not None:
        say(f"control: {len(beside.recording.requests)} requests")
        session.traffic = replace(beside, label=control[0])
        await session.serve(control[1])
        await session.replay()
        await session.finished()
        _alive(session, control[0])
    base = lab.plan.arms[0].name
    runs = [run for run in session.state.runs.values() if run.label == base]
    speed.learn(session.profile.name, runs, alone=lab.study.pace == "closed:1")


def _alive(session: Session, label: str) -> None:
    engine = session.state.engine
    if engine is None or engine.state == "died":
        what, mend = (engine and engine.failure) or ("the engine is gone", f"read the log in {session.folder}")
        raise VtuneError(f"{label}: {what}", mend, Exit.ENGINE)
