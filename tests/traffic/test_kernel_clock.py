"""Wall-clock stamps on the monotonic clock, also when somebody sets the wall clock."""

from tui.traffic.http.clock import EVERY_NS, KernelClock

S = 10**9


class Clocks:
    """A monotonic clock that is turned by hand, and a wall clock beside it."""

    def __init__(self):
        self.now, self.ahead = 1000 * S, 5000 * S

    def make(self):
        return KernelClock(lambda: self.now, lambda: self.now + self.ahead)


def test_stamps_are_moved_by_what_lies_between_the_clocks():
    clocks = Clocks()
    clock = clocks.make()
    assert clock.monotonic(clocks.now + clocks.ahead - 7000, clocks.now) == clocks.now - 7000
    assert clock.steps == 0


def test_a_wall_clock_that_was_set_is_measured_again_and_counted():
    clocks = Clocks()
    clock = clocks.make()
    clock.monotonic(clocks.now + clocks.ahead, clocks.now)
    clocks.ahead += S // 2
    clocks.now += EVERY_NS + 1
    assert clock.monotonic(clocks.now + clocks.ahead - 7000, clocks.now) == clocks.now - 7000
    assert clock.steps == 1


def test_a_stamp_from_the_future_is_not_waited_out():
    clocks = Clocks()
    clock = clocks.make()
    clock.monotonic(clocks.now + clocks.ahead, clocks.now)
    clocks.ahead += S
    clocks.now += 1000  # long before the next measurement is due
    assert clock.monotonic(clocks.now + clocks.ahead - 300, clocks.now) == clocks.now - 300
    assert clock.steps == 1


def test_a_stamp_that_cannot_be_true_is_none():
    clocks = Clocks()
    clock = clocks.make()
    assert clock.monotonic(clocks.now + clocks.ahead - 61 * S, clocks.now) is None
    assert clock.monotonic(clocks.now + clocks.ahead + 1, clocks.now) is None
