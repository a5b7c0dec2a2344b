"""Why an engine did not start or died, in two lines: the root cause, and the mend.

vLLM reports a failure several times: the worker's traceback first, then wrappers ("Engine core initialization
failed. See root cause above."). The earliest text that a rule knows is the cause; without one, the last line of the
first traceback that is no wrapper.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tui.engine.causes import KNOWN, LAST_RESORT
from tui.engine.keeper import Ending
from tui.engine.launch import Launch
from tui.engine.startup import clean

_READ_BYTES = 2 << 20  # of a log: the start of a long run and its end hold what matters
_SHOWN = 240  # characters of a foreign error text


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong and its mend, one line each; `cause` names the kind, `lever` the one to change, where known."""

    what: str
    mend: str
    cause: str
    lever: str | None = None


_VALUE_ERROR = re.compile(r"^\s*Value error, (?P<text>.+?)(?: \[type=\w+, input_value=.*)?$", re.MULTILINE)
_WRAPPERS = re.compile(
    r"Engine core initialization failed|please check the stack trace above for the root cause|See stack trace \(above\)"
    r"|WorkerProc initialization failed|EngineDeadError|^KeyboardInterrupt|^SystemExit|CancelledError"
    r"|^RuntimeError: cancelled$"  # what the core's own wait for a killed worker ends with
)


def read_log(path: Path, offset: int = 0) -> str:
    """The text of a log from `offset` on, its middle left out where it is long; empty if it can't be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(offset)
            if size - offset <= _READ_BYTES:
                return file.read().decode("utf-8", "replace")
            start = file.read(_READ_BYTES // 2)
            file.seek(size - _READ_BYTES // 2)
            return (start + b"\n" + file.read()).decode("utf-8", "replace")
    except OSError:
        return ""


def diagnose(log: str, ending: Ending | None, launch: Launch, log_path: Path) -> Diagnosis:
    """The root cause in `log`, the text of a start or of what was written since; `ending` None: it still runs."""
    text = "\n".join(clean(line).text for line in re.split(r"[\r\n]+", log))
    matches = [
        (found.start(), order, rule, found)
        for order, rule in enumerate(KNOWN)
        if (found := rule.pattern.search(text))
    ]
    root = _first_error(text)
    if matches:
        _, _, rule, found = min(matches, key=lambda match: match[:2])
        if rule.cause not in LAST_RESORT or root is None:
            what, mend = (_line(rule.say(words, found, launch)) for words in (rule.what, rule.mend))
            return Diagnosis(what, mend, rule.cause, rule.lever)
    if value := _VALUE_ERROR.search(text):
        return Diagnosis(f"vLLM refuses the settings: {_line(value['text'])}", "correct the profile", "bad-value")
    if root is not None:
        return Diagnosis(_line(root), f"read the log: {log_path}", "error")
    return _by_ending(ending, log_path)


def _by_ending(ending: Ending | None, log_path: Path) -> Diagnosis:
    mend = f"read the log: {log_path}"
    if ending is None:
        return Diagnosis("the engine did not become ready", mend, "unknown")
    if ending.signal == 9:
        see = "see `dmesg` for the out-of-memory killer; start it again"
        return Diagnosis("the engine was killed (SIGKILL)", see, "killed")
    if ending.code is None and ending.signal is None:
        what = "the keeper of the engine was killed, and the engine was ended with it"
        return Diagnosis(what, "start vtune again", "keeper-lost")
    return Diagnosis(f"the engine ended ({ending.words}) and said no reason", mend, "unknown")


def _first_error(text: str) -> str | None:
    """The exception line of the first traceback that is no wrapper; else the first "error:" line."""
    inside = False
    for line in text.split("\n"):
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and line and not line[0].isspace():
            inside = False
            if not _WRAPPERS.search(line):
                return line
    plain = re.search(r"^(?:\S+: )?(?:[Ff]atal|[Ee]rror|ERROR): .+$", text, re.MULTILINE)
    return plain.group(0) if plain else None


def _line(text: str) -> str:
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "..."
