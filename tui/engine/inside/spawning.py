"""Starting a program as the first process of a launch. Stdlib only, Python 3.9 syntax; the caller has one thread."""

import ctypes
import os
import signal
from typing import Dict, List, Optional

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prctl(option: int, value: int) -> None:
    """Linux only; without it (macOS) launches are ended by their process group."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def spawn(argv: List[str], env: Dict[str, str], cwd: Optional[str], log: str) -> int:
    """Start `argv` in its own session, its output appended to `log` (0600). Raises OSError if it can't be run."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    reader, writer = os.pipe()
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(argv, env, cwd, output, writer, keeper)
    os.close(output)
    os.close(writer)
    with open(reader, "rb") as answer:
        refusal = answer.read()
    if refusal:
        os.waitpid(pid, 0)
        number, _, name = refusal.decode().partition(" ")
        raise OSError(int(number), os.strerror(int(number)), name)
    return pid


def become(argv: List[str], env: Dict[str, str], cwd: Optional[str], output: int, writer: int, keeper: int) -> None:
    """The child's side of `spawn`; never returns. Every other descriptor closes at exec."""
    name = argv[0]
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # the second net: it reaches only this one process
        if os.getppid() != keeper:
            os._exit(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if cwd:
            name = cwd
            os.chdir(cwd)
            name = argv[0]
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(writer, f"{error.errno} {name}".encode())
    finally:
        os._exit(127)
