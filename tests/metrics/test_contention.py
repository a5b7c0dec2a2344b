"""Other users of the machine: counted from /proc as it was captured, and from what nvidia-smi answers."""

import os
import subprocess
import sys
import time

import pytest

from tui.metrics import contention, device
from tui.metrics.contention import Contention, gpu_conditions, throttling
from tui.session.result.machine import caveats


def write(proc, uptime: float, busy: int, steal: int, processes: dict[int, int]) -> None:
    """`busy` and the processes' times in hundredths of a second."""
    (proc / "uptime").write_text(f"{uptime} 1000.00\n")
    (proc / "stat").write_text(f"cpu  {busy} 0 0 5000 0 0 0 {steal} 0 0\ncpu0 1 2 3 4\n")
    for pid, spent in processes.items():
        (proc / str(pid)).mkdir(exist_ok=True)
        line = f"{pid} (vllm (odd) name) S 1 1 1 0 -1 4194304 1 0 0 0 {spent} 0 0 0 20 0 1 0 100 1 1\n"
        (proc / str(pid) / "stat").write_text(line)


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.setattr(contention, "_own", lambda: set())
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def test_what_is_not_ours_is_others(tmp_path, alone):
    look = Contention(tmp_path)
    write(tmp_path, 100.0, 10_000, 0, {7: 500, 8: 90})
    assert look.look([7]) is None, "the first look has nothing to compare with"
    write(tmp_path, 110.0, 13_000, 100, {7: 1_500, 8: 9_000})
    found = look.look([7])
    assert (found.others, found.steal, found.cores) == (2.0, 0.1, 4)
    write(tmp_path, 120.0, 13_000, 100, {7: 1_500})
    assert look.look([7]).others == 0.0


def test_a_process_of_ours_that_is_new_counts_and_one_that_ended_is_no_fault(tmp_path, alone):
    look = Contention(tmp_path)
    write(tmp_path, 100.0, 10_000, 0, {7: 500})
    look.look([7])
    write(tmp_path, 110.0, 11_000, 0, {9: 1_000})
    assert look.look([9, 1234]).others == 0.0


def test_a_machine_that_does_not_tell_is_unknown(tmp_path, alone):
    look = Contention(tmp_path)
    assert look.look([1]) is None and look.look([1]) is None


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="this machine has no /proc")
def test_a_child_of_ours_is_not_somebody_else():
    look = Contention()
    look.look([])
    begun = time.monotonic()
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        while time.monotonic() - begun < 0.5:
            pass
        with_child = look.look([])
        assert with_child is not None and child.pid in contention._own()
    finally:
        child.kill()
        child.wait()


def test_clocks_that_are_held_down_are_told_and_idle_ones_are_not():
    lines = ["0, 0x0000000000000001", "1, 0x0000000000000024", "2, 0x0000000000000000", "3, [N/A]", "4, 0x80"]
    assert throttling(lines) == [
        "the clocks of GPU 1 were held down: power cap, temperature",
        "the clocks of GPU 4 were held down: power brake",
    ]


def test_others_on_the_gpu_are_named_and_older_drivers_are_asked_in_their_words(monkeypatch):
    answers = {
        "--query-compute-apps=pid,used_memory,process_name": ["11, 9000, python", "12, 2048, /usr/bin/blender"],
        "--query-gpu=index,clocks_throttle_reasons.active": ["0, 0x0000000000000008"],
    }
    monkeypatch.setattr(device, "_nvidia_smi", answers.get)
    assert gpu_conditions({11}) == (
        "/usr/bin/blender used a GPU as well with 2.0 GiB", "the clocks of GPU 0 were held down: hardware slowdown"
    )  # fmt: skip
    monkeypatch.setattr(device, "_nvidia_smi", lambda query: None)
    assert gpu_conditions({11}) == ()


def test_caveats_are_for_what_matters():
    busy = [(float(t), 0.9, 0.0, 2) for t in range(5)]
    assert caveats(busy, ()) == ["other processes used 0.9 of 2 cores during the run: times hold that"]
    assert caveats([(float(t), 0.1, 0.5, 4) for t in range(5)], ()) == [
        "other machines on this host took 0.5 of 4 cores during the run: times hold that"
    ]
    assert caveats(busy[:1], ()) == [] and caveats([(0.0, 0.1, 0.0, 2)] * 3, ()) == []
    assert caveats([], ["the clocks of GPU 1 were held down: power cap"]) == [
        "the clocks of GPU 1 were held down: power cap during the run"
    ]
