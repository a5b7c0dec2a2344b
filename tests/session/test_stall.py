"""A hang is judged by progress: long prefills are silent too."""

from tui.session.stall import LEAST_S, Stall


def test_an_idle_engine_never_stalls():
    stall = Stall()
    assert all(stall.see(t, running=False, progress=False) is None for t in range(0, 1000, 10))


def test_silence_with_requests_running_is_told_once_after_the_limit():
    stall = Stall()
    told = [(t, s) for t in range(0, 200) if (s := stall.see(float(t), True, progress=t == 5)) is not None]
    assert told == [(5 + int(LEAST_S), LEAST_S)]


def test_a_long_step_seen_before_makes_it_wait_longer():
    stall = Stall()
    stall.see(0.0, True, True)
    stall.see(13.0, True, True)  # a step of 13 s: five of them are 65 s
    assert stall.see(13.0 + 64.0, True, False) is None
    assert stall.see(13.0 + 65.0, True, False) == 65.0


def test_progress_or_idleness_starts_anew():
    stall = Stall()
    stall.see(0.0, True, True)
    assert stall.see(31.0, True, False) is not None
    assert stall.see(32.0, True, True) is None
    assert stall.see(33.0, False, False) is None
    stall.see(34.0, True, False)
    assert stall.see(60.0, True, False) is None


def test_the_step_that_ends_a_stall_counts_as_seen():
    stall = Stall()
    stall.see(0.0, True, True)
    stall.see(40.0, True, True)
    assert stall.limit_s == 200.0
