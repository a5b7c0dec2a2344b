"""Recordings made for a test."""

import json
from pathlib import Path


def write_recording(path: Path, requests: int, gap_s: float = 0.05, **body: object) -> Path:
    """A recording whose prompts share a long beginning; the group says whether the number is even."""
    shared = " ".join(f"word{n}" for n in range(400))
    rows = [{"schema": "vtune.recording/1", "name": path.stem, "captured_at": "2026-01-01", "source": "a test", "notes": ""}]
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
