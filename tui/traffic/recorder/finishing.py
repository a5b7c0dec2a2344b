"""When recording ends: count what the answers did not tell, and put the file in order of arrival."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

from tui.traffic.http.target import Target
from tui.traffic.recorder.counting import count
from tui.traffic.recorder.recordfile import RecordFile
from tui.traffic.recording import is_embeddings
from tui.traffic.whole_file import WholeFile

_MANY = 200  # uncounted requests that take a while


async def finish(
    file: RecordFile, first: int, target: Target, limit_s: float, stop: asyncio.Event, say: Callable[[str], None]
) -> tuple[int, list[str]]:
    """(requests counted, notes); the requests from number `first` on are this run's."""
    notes: list[str] = []
    asked = [number for number, _ in _uncounted(file, first)]
    counted: dict[int, int] = {}
    if asked:
        if len(asked) >= _MANY:
            say(f"counting the prompt tokens of {len(asked)} requests, at most {limit_s:g} s; ctrl+c skips it")
        counted, why = await count(target, _uncounted(file, first), limit_s, stop)
        if len(counted) < len(asked):
            why = why or "the upstream's /tokenize does not count them"
            notes.append(f"{len(asked) - len(counted)} requests without token counts: {why}")
    ordered = all(a[0] <= b[0] for a, b in zip(file.places, file.places[1:], strict=False))
    if file.places and (counted or not ordered or file.path.suffix in (".gz", ".zst")):
        try:
            _rewrite(file, counted)
        except OSError as error:
            notes.append(f"the file stays in the order in which answers ended: {error.strerror or error}")
            return 0, notes
    return len(counted), notes


def _uncounted(file: RecordFile, first: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for number in range(first, len(file.places)):
        row = json.loads(file.read(file.places[number]))
        if is_embeddings(row["path"]) or row["reply"]["status"] != 200:
            continue
        if "prompt_tokens" not in (row["reply"].get("usage") or {}):
            yield number, row["body"]


def _rewrite(file: RecordFile, counted: dict[int, int]) -> None:
    """Whole or not at all. What a request follows ended before it came, so it stays before it."""
    with WholeFile(file.path) as out:
        out.write(file.first_line().decode())
        for number in sorted(range(len(file.places)), key=lambda n: file.places[n][0]):
            line = file.read(file.places[number]).decode()
            if number in counted:
                row = json.loads(line)
                usage = row["reply"].get("usage") or {}
                row["reply"] |= {"usage": {"prompt_tokens": counted[number], **usage}, "usage_from": "tokenize"}
                line = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
            out.write(line if line.endswith("\n") else line + "\n")
