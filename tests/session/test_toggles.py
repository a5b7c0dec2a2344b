"""Going from arm to arm leaves nothing behind: as much is there after twenty toggles as after one."""

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from made import left

from tui.engine import profile as profiles
from tui.engine.profile_set import with_settings
from tui.session.session import Session
from tui.session.traffic import traffic_of


@dataclass(frozen=True)
class There:
    """What a session holds at a moment."""

    processes: int
    descriptors: int
    sockets: int
    shared_memory: int

    @classmethod
    def now(cls, tmp_path: Path) -> "There":
        links = []
        for name in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink(f"/proc/self/fd/{name}"))
            except OSError:  # that of the listing itself
                continue
        started = left(tmp_path)
        shared = sum(Path(f"/proc/{pid}/maps").read_text().count("/dev/shm/") for pid in started)
        sockets = sum(link.startswith("socket:") for link in links)
        return cls(len(started), len(links), sockets, shared)


async def settled(tmp_path: Path) -> There:
    """What is there once five looks in a row saw the same: a connection or a file may be just about to be closed."""
    looks = [There.now(tmp_path)]
    while len(looks) < 5 or len(set(looks[-5:])) > 1:
        await asyncio.sleep(0.05)
        looks.append(There.now(tmp_path))
    return looks[-1]


async def nothing_more(tmp_path: Path, once: There) -> None:
    """As much is there as once was; a file that is open for a moment is no leak, nor is one that was and is not."""
    then = await settled(tmp_path)
    for _ in range(20):
        if then.descriptors <= once.descriptors:
            break
        then = await settled(tmp_path)
    assert replace(then, descriptors=once.descriptors) == once
    assert then.descriptors <= once.descriptors


async def toggle(session: Session, value: str) -> None:
    session.set_lever("max-num-seqs", value)
    await session.apply()
    await session.ready()


@pytest.mark.parametrize(
    ("park", "toggles"), [(1, 20), pytest.param(0, 20, marks=pytest.mark.matrix)], ids=["parked", "started anew"]
)
async def test_twenty_toggles_leave_as_much_as_one(standin_profile, tmp_path, monkeypatch, park, toggles):
    monkeypatch.setenv("STANDIN_TREE", "1")
    profile = with_settings(profiles.load(str(standin_profile)), [f"engine.park={park}", "engine.head-start=off"])
    session = Session(profile, traffic_of(profile), tmp_path / "session")
    try:
        await session.start()
        await session.ready()
        await toggle(session, "64")
        await toggle(session, "128")
        once = await settled(tmp_path)
        for number in range(toggles):
            await toggle(session, "128" if number % 2 else "64")
        await nothing_more(tmp_path, once)
        assert once.processes >= 1 + 3 * (1 + park)
    finally:
        await session.close()
    assert not left(tmp_path)


@pytest.mark.matrix
async def test_engines_that_are_pushed_out_leave_nothing(standin_profile, tmp_path, monkeypatch):
    monkeypatch.setenv("STANDIN_TREE", "1")
    profile = with_settings(profiles.load(str(standin_profile)), ["engine.park=1", "engine.head-start=off"])
    session = Session(profile, traffic_of(profile), tmp_path / "session")
    try:
        await session.start()
        await session.ready()
        await toggle(session, "1")
        once = await settled(tmp_path)
        for number in range(2, 5):
            await toggle(session, str(number))
        await nothing_more(tmp_path, once)
    finally:
        await session.close()
