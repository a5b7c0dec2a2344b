"""A child that is hard to end, for the keeper's tests: python unruly.py MODE...

Prints the pid of every process it consists of, then "up", and stays.
"""

import os
import signal
import sys
import time
from multiprocessing import shared_memory


def stay() -> None:
    while True:
        time.sleep(60)


def fork(then) -> None:
    if os.fork() == 0:
        then()
        os._exit(0)


def tell() -> None:
    os.write(1, f"pid {os.getpid()}\n".encode())


def sub(*, session: bool = False, deaf: bool = False, stopped: bool = False) -> None:
    if session:
        os.setsid()
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell()
    if stopped:
        os.kill(os.getpid(), signal.SIGSTOP)
    stay()


def daemon() -> None:
    """Forked twice, in a session of its own, with an environment that says nothing."""
    os.setsid()
    if os.fork() == 0:
        script = "import os, time; os.write(1, f'pid {os.getpid()}\\n'.encode()); time.sleep(600)"
        os.execve(sys.executable, [sys.executable, "-c", script], {})


def main(modes: list[str]) -> None:
    if "deaf" in modes:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell()
    count = 1
    for mode, options in (
        ("child", {}),
        ("session", {"session": True}),
        ("deaf-child", {"deaf": True}),
        ("stopped-child", {"stopped": True}),
        ("deaf-session", {"session": True, "deaf": True}),
    ):
        if mode in modes:
            fork(lambda options=options: sub(**options))
            count += 1
    if "daemon" in modes:
        fork(daemon)
        count += 1
    if "shm" in modes:
        block = shared_memory.SharedMemory(create=True, size=4096)
        os.write(1, f"shm /dev/shm/{block.name.lstrip('/')}\n".encode())
        count += 1  # the resource tracker, which tells nobody its pid
        import multiprocessing.resource_tracker as tracker

        os.write(1, f"pid {tracker._resource_tracker._pid}\n".encode())
    os.write(1, f"count {count}\n".encode())
    if "leave" in modes:
        time.sleep(0.3)
        os._exit(7)
    if "stopped" in modes:
        os.kill(os.getpid(), signal.SIGSTOP)
    stay()


if __name__ == "__main__":
    main(sys.argv[1:])
