"""The written form of sessions: Markdown for people, JSON for programs, CSV and JSONL with a row per request.

Everything is computed again from the session folders (the journal and the runs' files); the same
folders give the same bytes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tui import paths
from tui.errors import VtuneError
from tui.session.report import across, document, exports, pictures
from tui.session.report.material import Material, load

__all__ = ["compared", "documents", "export", "of", "render"]

NAME = "report.md"

Form = Literal["md", "json", "csv", "jsonl"]


def render(folder: Path, form: Form = "md", live: bool = False) -> str:
    """The report of the session in `folder`, running ones and broken ones included.

    `live` is for the session itself, which knows that it is not broken off. Raises VtuneError when there is no
    session in it.
    """
    return _text([_loaded(folder, live)], form)


def of(folders: Sequence[Path], form: Form = "md") -> str:
    """One document of one session, or of several that are compared; Markdown without its figures."""
    return _text([_loaded(folder, False) for folder in folders], form)


def _text(materials: Sequence[Material], form: Form) -> str:
    if form == "csv":
        return exports.as_csv(materials)
    if form == "jsonl":
        return exports.as_jsonl(materials)
    if len(materials) > 1:
        found = across.compare(materials)
        return exports.dumped(across.told(found)) if form == "json" else across.write(found)
    return exports.as_json(materials[0]) if form == "json" else document.write(materials[0])


def documents(folders: Sequence[Path], name: str = NAME, live: bool = False) -> dict[str, str]:
    """File name -> text: the Markdown report `name`, and its figures as SVG that lie beside it."""
    materials = [_loaded(folder, live) for folder in folders]
    several = len(materials) > 1
    letters = [across.letter(place) if several else "" for place in range(len(materials))]
    shown = [one for letter, m in zip(letters, materials, strict=True) for one in pictures.of(m.runs, letter)]
    drawn = pictures.pictures(shown)
    files = {what: f"{Path(name).stem}-{what}.svg" for what in drawn}
    figures = {what: (words, files[what]) for what, (words, _) in drawn.items()}
    main = across.write(across.compare(materials), figures) if several else document.write(materials[0], figures)
    return {name: main, **{files[what]: svg for what, (_, svg) in drawn.items()}}


def _loaded(folder: Path, live: bool) -> Material:
    material = load(folder)
    material.state.closed |= live
    return material


def compared(folder: Path) -> dict[str, Any] | None:
    """The vtune.comparison/1 object of the session in `folder`; None when it compares nothing."""
    return load(folder).comparison


def export(folder: Path, live: bool = False) -> Path:
    """Write the report into the session's own folder; its path. Raises VtuneError where that can't be written."""
    target = folder / NAME
    try:
        for name, content in documents([folder], live=live).items():
            paths.write_whole(folder / name, content)
    except OSError as error:
        mend = f"write it elsewhere: vtune report {folder} -o FILE.md"
        raise VtuneError(f"can't write {target}: {error.strerror}", mend) from error
    return target
