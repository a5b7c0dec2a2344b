"""The written form of a session: Markdown for people, JSON for programs, CSV with a row per request.

Everything is computed again from the session folder (the journal and the runs' files); the same
folder gives the same bytes.
"""

from pathlib import Path
from typing import Any, Literal

from tui import paths
from tui.errors import VtuneError
from tui.session.report import document, exports
from tui.session.report.material import load

__all__ = ["compared", "export", "render"]

NAME = "report.md"


def render(folder: Path, form: Literal["md", "json", "csv"] = "md", live: bool = False) -> str:
    """The report of the session in `folder`, running ones and broken ones included.

    `live` is for the session itself, which knows that it is not broken off. Raises VtuneError when there is no session in it.
    """
    material = load(folder)
    material.state.closed |= live
    if form == "json":
        return exports.as_json(material)
    if form == "csv":
        return exports.as_csv(material)
    return document.write(material)


def compared(folder: Path) -> dict[str, Any] | None:
    """The vtune.comparison/1 object of the session in `folder`; None when it compares nothing."""
    return load(folder).comparison


def export(folder: Path, live: bool = False) -> Path:
    """Write the report into the session's own folder; its path. Raises VtuneError where that can't be written."""
    target = folder / NAME
    try:
        paths.write_whole(target, render(folder, live=live))
    except OSError as error:
        mend = f"write it elsewhere: vtune report {folder} -o FILE.md"
        raise VtuneError(f"can't write {target}: {error.strerror}", mend) from error
    return target
