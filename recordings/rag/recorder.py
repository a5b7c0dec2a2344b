"""Traffic as a file in the format vtune.recording/1: one JSON object a line."""

import json
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .client import PATH, Answer

SOURCE = "recordings/rag, a RAG program with BM25 retrieval"


class Recorder:
    """Collects requests with their times and writes them in order of sending."""

    def __init__(self) -> None:
        self._captured_at = datetime.now(timezone.utc)
        self._start = time.monotonic()
        self._rows: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since this recorder was made."""
        return time.monotonic() - self._start

    def add(
        self,
        id: str,
        at: float,
        body: dict[str, Any],
        answer: Answer,
        group: str | None = None,
        after: str | None = None,
        think_s: float | None = None,
    ) -> None:
        """Keep a request that was sent `at` seconds after the start, and its answer."""
        optional = {"group": group, "after": after, "think_s": think_s}
        row = {"id": id, "at": round(at, 3), "path": PATH}
        row |= {name: value for name, value in optional.items() if value is not None}
        with self._lock:
            self._rows.append(row | {"body": body, "reply": answer.reply()})

    def write(self, file: Path, name: str, notes: str, synthetic: bool) -> None:
        """Write the recording, readable by its owner only, for it holds prompts."""
        header = {
            "schema": "vtune.recording/1",
            "name": name,
            "captured_at": self._captured_at.isoformat(timespec="seconds"),
            "source": SOURCE,
            "notes": notes,
            "synthetic": synthetic,
        }
        rows = sorted(self._rows, key=lambda row: row["at"])
        file.touch(mode=0o600)
        with file.open("w", encoding="utf-8") as out:
            for row in (header, *rows):
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
