"""The suite without its long matrices, by two processes: python tests/two_processes.py [PYTEST ARGUMENT]...
With ``-m ""`` the matrices run too.

Both have the whole list; the one that comes first to a file takes it (see conftest.py). The tests on the real engine
are taken as one, so that two engines are never up at once. What the first process prints is seen as it runs, that of
the second is kept and follows. Exit code: that of a process that failed.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO


def start(number: int, taken: str, arguments: Sequence[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    env = {**os.environ, "VTUNE_TEST_TAKEN": taken}
    # Where Python may not keep what it compiled, pytest rewrites every test and each of hundreds of stand-ins compiles.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    # No percentages: they would be of the whole list.
    options = ["-m", "not matrix", "-o", f"cache_dir=.pytest_cache/{number}", "-o", "console_output_style=classic"]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *arguments], stdout=output, stderr=output, env=env
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the terminal told the processes too: they end in order
            continue


def main(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as taken, tempfile.TemporaryFile() as kept:
        processes = [start(number, taken, arguments, output) for number, output in ((1, None), (2, kept))]
        codes = [ended(process) for process in processes]
        kept.seek(0)
        sys.stdout.buffer.write(b"\nThe second process:\n" + kept.read())
        sys.stdout.flush()
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
