"""A new recording with the advice applied; the one that was inspected stays as it is."""

from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic import recording, whole_file
from tui.traffic.inspect.doctor import Diagnosis


def refuse(path: Path, inspected: Path, force: bool) -> None:
    """Raises VtuneError where `path` can't be written; never over the file that is inspected."""
    whole_file.refuse(path, force, inspected)


def write(path: Path, inspected: Path, header: dict[str, Any], diagnosis: Diagnosis, force: bool) -> None:
    """Ids, times and links stay; the header says what was changed and that replies are of the prompts before."""
    if not diagnosis.breaks:
        raise VtuneError("nothing breaks a prefix that could be mended", "leave --rewrite out")
    mends = [f"{one.kind} at {one.where}, {one.requests} requests: {one.advice}" for one in diagnosis.breaks]
    said = "prompts changed by vtune inspect --rewrite; the replies are those to the prompts before"
    notes = "; ".join(filter(None, (header.get("notes"), said)))
    kept = {key: value for key, value in header.items() if key != "schema"}
    changes = {"notes": notes, "rewritten_from": inspected.name, "mends": mends}
    new = {**kept, **changes, "predicted_hit_rate": diagnosis.ceiling}
    recording.write(path, new, diagnosis.mended, force)
