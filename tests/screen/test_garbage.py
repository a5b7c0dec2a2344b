"""Garbage is looked for while nobody waits for a key."""

import gc

import pytest

from tui.screens import garbage
from tui.screens.garbage import Garbage


@pytest.fixture
def clock(monkeypatch):
    """Its first item is what the clock shows, in seconds."""
    now = [1_000.0]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def begun(clock):
    one = Garbage()
    one.begin()
    yield one
    one.end()
    gc.unfreeze()


def test_it_waits_for_quiet_but_not_for_ever(clock, begun) -> None:
    assert not begun.look(pressed=0.0)  # just begun
    clock[0] += garbage.EVERY_S
    assert not begun.look(pressed=clock[0] - 0.5)
    assert begun.look(pressed=clock[0] - garbage.QUIET_S)
    assert not begun.look(pressed=0.0)  # it was just done
    clock[0] += garbage.AT_LATEST_S
    assert begun.look(pressed=clock[0])


def test_python_does_not_look_through_everything_by_itself_meanwhile_and_does_afterwards(clock) -> None:
    before = gc.get_threshold()
    one = Garbage()
    one.begin()
    assert gc.isenabled() and gc.get_threshold()[2] > 100_000
    one.end()
    gc.unfreeze()
    assert gc.get_threshold() == before
