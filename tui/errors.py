"""The one error that vtune shows to a person, and the exit codes of the command line."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every vtune command; scripts rely on them."""

    DONE = 0
    BUG = 1
    USAGE = 2  # bad usage or bad input, refused before anything starts
    ENGINE = 3  # the engine or URL did not start, could not be reached, or died
    MISSED = 4  # a target missed with --gate, or every request failed on a living engine
    INTERRUPTED = 130


class VtuneError(Exception):
    """Something a person can mend: one line *what*, one line *mend*."""

    def __init__(self, what: str, mend: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.mend = mend
        self.code = code
