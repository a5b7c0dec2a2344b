"""Small files of other tools' formats, made here, and one way to import them."""

import json
from pathlib import Path
from typing import Any

from tui.traffic import recording
from tui.traffic.importers import Options, Report, import_file
from tui.traffic.recording import Recording, Request

SHARED = Path(__file__).parents[2].parent / "shared" / "traces"


def chat(words: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": words}], "max_tokens": 4, **more}


def batch(id: str, stamp: Any = None, body: Any = None, **more: Any) -> dict[str, Any]:
    row = {
        "custom_id": id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": chat() if body is None else body,
        **more,
    }
    return row if stamp is None else {**row, "timestamp": stamp}


def lines(path: Path, *rows: Any) -> Path:
    """One value a line; text and bytes go in as they are."""
    with path.open("wb") as file:
        for row in rows:
            raw = row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode()
            file.write(raw + b"\n")
    return path


def imported(path: Path, **options: Any) -> tuple[Recording, Report]:
    """Import beside the file and load what came of it, which checks it as the replay would."""
    out = path.parent / f"{path.name}.imported.jsonl"
    report = import_file(path, out, Options(**options), force=True)
    loaded = recording.load(out)
    assert report.read == report.kept + sum(count for count, _ in report.skipped.values())
    assert report.kept == len(loaded.requests)
    return loaded, report


def ids(loaded: Recording) -> list[str]:
    return [request.id for request in loaded.requests]


def times(loaded: Recording) -> list[float]:
    return [request.at for request in loaded.requests]


def said(request: Request) -> list[Any]:
    return [message["content"] for message in request.body["messages"]]
