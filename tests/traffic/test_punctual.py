"""A process that has to wake on time, and those that it starts."""

import os
import subprocess
import sys

import pytest

CODE = """
import os, subprocess, sys
TELL = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
from tui.traffic.punctual import be_punctual
be_punctual()
exec(TELL)
print(subprocess.check_output([sys.executable, "-c", TELL], text=True))
"""
USUAL = os.getpriority(os.PRIO_PROCESS, 0) == 0


def niceness(more):
    told = subprocess.check_output([sys.executable, "-c", CODE], text=True, preexec_fn=lambda: os.nice(more))
    return [int(word) for word in told.split()]


@pytest.mark.skipif(not USUAL, reason="these tests run at another priority than the usual one")
def test_a_higher_priority_is_taken_where_it_is_allowed_and_is_not_handed_on():
    own, child = niceness(0)
    assert own in (-10, 0) and child == 0


def test_who_was_started_with_another_priority_keeps_it():
    start = os.getpriority(os.PRIO_PROCESS, 0)
    more = 1 if start < 19 else 0
    assert niceness(more) == [start + more] * 2
