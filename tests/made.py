"""What tests make and look for: recordings, and the processes of an engine."""

import inspect
import json
import time
from collections.abc import Callable
from pathlib import Path


def write_recording(path: Path, requests: int, gap_s: float = 0.05, **body: object) -> Path:
    """A recording whose prompts share a long beginning; the group says whether the number is even."""
    shared = " ".join(f"word{n}" for n in range(400))
    header = {"schema": "vtune.recording/1", "name": path.stem, "captured_at": "2026-01-01", "source": "a test"}
    rows = [{**header, "notes": ""}]
    for n in range(requests):
        messages = [{"role": "system", "content": shared}, {"role": "user", "content": f"question {n}"}]
        rows.append(
            {
                "id": f"r{n}",
                "at": round(n * gap_s, 3),
                "path": "/v1/chat/completions",
                "group": "even" if n % 2 == 0 else "odd",
                "body": {"model": "any", "messages": messages, "max_tokens": 8, "temperature": 0, **body},
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def members(url: str) -> list[int]:
    """Processes of the engine that was launched to answer at `url`, by the mark that the keeper gave them."""
    port = url.rpartition(":")[2].encode()
    marks: dict[int, bytes] = {}
    ours: set[bytes] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environ = (entry / "environ").read_bytes().split(b"\0")
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            mark = next((word for word in environ if word.startswith(b"VTUNE_LAUNCH=")), None)
            if mark is not None:
                marks[int(entry.name)] = mark
                if port in words:
                    ours.add(mark)
    return [pid for pid, mark in marks.items() if mark in ours]


def runs(pid: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def left(tmp_path: Path) -> list[int]:
    """Every living process that vtune started in this test: each carries the test's own VTUNE_STATE."""
    mark = f"VTUNE_STATE={tmp_path}/".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and any(w.startswith(mark) for w in (entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if runs(pid)]


def wait_until(wanted: Callable[[], object], seconds: float = 60.0) -> None:
    """Look every 20 ms until `wanted()` holds."""
    deadline = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < deadline, inspect.getsource(wanted).strip()
        time.sleep(0.02)
