"""`make test`: what its two processes take from the list is all of it, and each test once."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = (  # one of them in two pieces, with another between
    "tests/session/test_stats.py::test_one_sample_is_its_own_median", "tests/metrics/test_window.py",
    "tests/session/test_stats.py::test_quantiles_are_linear_between_samples", "tests/metrics/test_buckets.py",
)  # fmt: skip


def suite(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tests/two_processes.py", "-v", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)


def test_both_together_run_every_test_once():
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *FILES],
        cwd=ROOT, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    every = [line for line in listed.stdout.splitlines() if "::" in line]
    done = suite(*FILES)
    ran = [line.removesuffix(" PASSED") for line in done.stdout.splitlines() if line.endswith(" PASSED")]
    assert done.returncode == 0, done.stdout
    assert every and sorted(ran) == sorted(every)


def test_a_suite_without_a_test_and_a_file_that_is_not_there_are_no_success():
    assert suite(FILES[0], "-k", "nobody").returncode == 5
    assert suite("tests/test_nowhere.py").returncode == 4
