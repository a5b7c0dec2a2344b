"""Garbage is looked for while nobody waits for a key."""

import gc

import pytest

from tui.screens import garbage
from tui.screens.garbage import Garbage


@pytest.fixture
def clock(monkeypatch):
    """Its first item is what the clock shows, in seconds; to collect takes as long as its second."""
    now = [1_000.0, 0.0]

    def collect() -> None:
        now[0] += now[1]

    monkeypatch.setattr(garbage.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(garbage.gc, "collect", collect)
    return now


@pytest.fixture
def begun(clock):
    one = Garbage()
    one.begin()
    yield one
    one.end()
    gc.unfreeze()


def test_it_waits_for_quiet_but_not_for_ever(clock, begun) -> None:
    assert not begun.look(0.0, alone=True)  # just begun
    clock[0] += garbage.EVERY_S
    assert not begun.look(clock[0] - garbage.QUIET_S / 2, alone=True)
    assert begun.look(clock[0] - garbage.QUIET_S - 0.01, alone=True)
    assert not begun.look(0.0, alone=True)  # it was just done
    clock[0] += garbage.AT_LATEST_S
    assert begun.look(clock[0], alone=True)


def test_what_is_kept_is_left_alone_once_it_takes_long_but_not_with_a_window_that_will_go(clock, begun) -> None:
    def freezes(alone: bool) -> bool:
        made, before = [[] for _ in range(1_000)], gc.get_freeze_count()
        begun.look(0.0, alone=alone)
        return gc.get_freeze_count() >= before + len(made)

    clock[0] += garbage.SETTLED_S
    assert not freezes(alone=False)
    assert freezes(alone=True)  # what the session brought along has settled
    clock[0] += garbage.EVERY_S
    assert not freezes(alone=True)
    clock[0] += garbage.EVERY_S
    clock[1] = 2 * garbage.LONG_S
    assert not freezes(alone=False)
    clock[0] += garbage.EVERY_S
    assert freezes(alone=True)


def test_python_does_not_look_through_everything_by_itself_meanwhile_and_does_afterwards(clock) -> None:
    before = gc.get_threshold()
    one = Garbage()
    one.begin()
    assert gc.isenabled() and gc.get_threshold()[2] > 100_000
    one.end()
    gc.unfreeze()
    assert gc.get_threshold() == before
