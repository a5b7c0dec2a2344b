"""Which phase an engine's start is in, read from its log; unknown lines never matter.

vLLM writes its log to stdout, progress bars (with carriage returns) and tracebacks to stderr; both land in one file.
The line format is `(EngineCore pid=N) INFO mm-dd HH:MM:SS [file.py:line] text` since 0.31, coloured or without the
tag before; the texts below hold from 0.8 to 0.33 (P = vllm 0.32's package).
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tui import paths
from tui.engine.inside import logs

PHASES = ("import", "config", "weights", "compile", "KV cache", "graphs", "ready")

# A phase begins at the first line that matches; phases only go forward.
_MARKS: dict[str, re.Pattern[str]] = {
    # P/entrypoints/serve/utils/api_utils.py:286,347, P/config/model.py:733
    "config": re.compile(r"non-default args:|Resolved architecture:|version \d+\.\d+\.\d+\S*$"),
    # A CPU or V1 runner says "Starting to load", a V2 runner the second (P/v1/worker/gpu/model_runner.py:392).
    "weights": re.compile(r"Starting to load model|Loading model from scratch|Loading \w+ checkpoint shards"),
    # P/compilation/backends.py:258-300, decorators.py:320, monitor.py:20, P/v1/worker/cpu_model_runner.py
    "compile": re.compile(
        r"torch\.compile took|torch\.compile takes|vLLM's torch\.compile|Dynamo bytecode transform|Compiling a graph"
        r"|Directly load (?:the|AOT)|Compiling model again"
        r"|Warming up model for the compilation"
    ),
    # P/v1/worker/gpu_worker.py:759, P/v1/core/kv_cache_utils.py:2327; "# GPU blocks" in 0.8
    "KV cache": re.compile(r"Available KV cache memory|KV cache size:|# \w+ blocks:|for KV cache on node"),
    "graphs": re.compile(r"Capturing (?:CUDA graphs|cudagraphs)|JIT kernel warmup starting|Graph capturing finished"),
    # P/v1/engine/core.py:395, P/entrypoints/launchers/api_server/entry.py:140 (up to 0.15 "vLLM API server")
    "ready": re.compile(
        r"init engine .* took|Supported[ _]tasks:|Starting vLLM (?:API )?server|Application startup complete"
    ),
}

_ANSI = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_PREFIX = re.compile(
    r"^(?:\((?P<process>[\w-]+) pid=\d+\) )?"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[[^\]]*\] ?)?"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A log line without colour and prefix: which process said it, how loud, and what."""

    process: str | None
    level: str | None
    text: str


def clean(raw: str) -> Line:
    """Take colour codes, control characters and vLLM's prefix off a line."""
    plain = "".join(c for c in _ANSI.sub("", raw) if c == "\t" or c.isprintable())
    match = _PREFIX.match(plain)
    assert match  # every part of the pattern may be absent
    return Line(match["process"], match["level"], plain[match.end() :])


class LogFollower:
    """Reads what was appended to a log since the last call; a line torn between two reads comes whole, once."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._offset = offset
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._torn = ""

    def read(self, last: bool = False) -> Iterator[str]:
        """New lines, raw; a carriage return ends a line too. With `last`, also one without an end."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._offset:  # its middle was cut out: what is behind the cut may come twice
                    self._offset = logs.HEAD
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            data = b""
        self._offset += len(data)
        text = self._torn + self._decoder.decode(data, last)
        *lines, self._torn = re.split(r"\r\n|\r(?!$)|\n", text)  # a last \r may be half of \r\n
        if last and self._torn:
            lines.append(self._torn)
            self._torn = ""
        yield from (line for line in lines if line)


class Phases:
    """The phases of one start so far; times are seconds since its launch."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {PHASES[0]: 0.0}

    @property
    def current(self) -> str:
        return next(reversed(self.begun))

    def feed(self, line: Line, at: float) -> str | None:
        """Note `line`, seen `at` seconds after the launch; the name of a phase that begins with it, else None."""
        reached = PHASES.index(self.current)
        for phase, pattern in _MARKS.items():
            if PHASES.index(phase) > reached and pattern.search(line.text):
                self.begun[phase] = at
                return phase
        return None

    def seconds(self, now: float) -> dict[str, float]:
        """How long each phase took, the current one up to `now`; a phase that never showed is not there."""
        names, starts = list(self.begun), [*self.begun.values(), now]
        return {name: max(0.0, starts[i + 1] - starts[i]) for i, name in enumerate(names)}


def _estimates_file(profile: str) -> Path:
    return paths.cache() / "starts" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', profile)[:80]}.json"


def estimate(profile: str, kind: str) -> dict[str, float] | None:
    """Seconds per phase of earlier starts of this profile here; `kind`: plain, warm. None: there were none."""
    try:
        phases = json.loads(_estimates_file(profile).read_text())["starts"][kind]
        return {str(name): float(seconds) for name, seconds in phases.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def learn(profile: str, kind: str, took: dict[str, float]) -> None:
    """Remember a start that became ready, half weight to what was known; never raises over a cache."""
    file = _estimates_file(profile)
    known = estimate(profile, kind) or {}
    mixed = {name: round((known.get(name, seconds) + seconds) / 2, 3) for name, seconds in took.items()}
    try:
        starts = json.loads(file.read_text())["starts"] if file.exists() else {}
    except (OSError, ValueError, KeyError, TypeError):
        starts = {}
    try:
        paths.private_dir(file.parent)
        paths.write_whole(file, json.dumps({"schema": "vtune.starts/1", "starts": {**starts, kind: mixed}}))
    except OSError:
        pass
