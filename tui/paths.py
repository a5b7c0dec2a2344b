"""Every directory vtune touches, and what ships with it.

State (sessions, logs) lives under ``$XDG_STATE_HOME/vtune``, things that can be made again
(the bundled model as a checkpoint) under ``$XDG_CACHE_HOME/vtune``, the user's profiles and
recordings under ``$XDG_CONFIG_HOME/vtune`` and ``$XDG_DATA_HOME/vtune``. ``VTUNE_STATE``,
``VTUNE_CACHE``, ``VTUNE_CONFIG`` and ``VTUNE_DATA`` override each.
"""

import os
from pathlib import Path

from tui.errors import VtuneError

_PACKAGE = Path(__file__).resolve().parent


def _home(variable: str, xdg: str, fallback: str) -> Path:
    if own := os.environ.get(variable):
        return Path(own).expanduser()
    base = os.environ.get(xdg)
    # The XDG specification says that relative paths are to be ignored.
    root = Path(base) if base and os.path.isabs(base) else Path.home() / fallback
    return root / "vtune"


def state() -> Path:
    """Where sessions and their logs are kept."""
    return _home("VTUNE_STATE", "XDG_STATE_HOME", ".local/state")


def cache() -> Path:
    """Where things are kept that can be made again."""
    return _home("VTUNE_CACHE", "XDG_CACHE_HOME", ".cache")


def config() -> Path:
    """Where the user's own profiles are looked up."""
    return _home("VTUNE_CONFIG", "XDG_CONFIG_HOME", ".config")


def data() -> Path:
    """Where the user's own recordings are looked up."""
    return _home("VTUNE_DATA", "XDG_DATA_HOME", ".local/share")


def sessions() -> Path:
    """The folder with one folder per session."""
    return state() / "sessions"


def bundled(kind: str) -> Path:
    """The shipped ``profiles`` or ``recordings``: inside an installed wheel, else in the source tree."""
    inside = _PACKAGE / "bundled" / kind
    return inside if inside.is_dir() else _PACKAGE.parent / kind


def private_dir(path: Path) -> Path:
    """Make `path` (0700, for it may hold prompts) and return it."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def write_whole(path: Path, content: str | bytes, mode: int = 0o600) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename."""
    import tempfile  # with all that it can archive: only where a file is written

    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def find(kind: str, ref: str, suffixes: tuple[str, ...]) -> Path:
    """Resolve `ref`, a path or a bare name, to a file of `kind` (``profiles`` or ``recordings``).

    A path wins; then the user's folder, then what ships with vtune.
    Raises VtuneError naming what does exist.
    """
    given = Path(ref).expanduser()
    if given.is_file():
        return given
    if given.name == ref:
        for folder in _folders(kind):
            for suffix in ("", *suffixes):
                candidate = folder / f"{ref}{suffix}"
                if candidate.is_file():
                    return candidate
    known = names(kind, suffixes)
    thing = kind.rstrip("s")
    raise VtuneError(f"no {thing} {ref!r}", f"give a file, or one of: {', '.join(known) or 'none found'}")


def names(kind: str, suffixes: tuple[str, ...]) -> list[str]:
    """The bare names of what there is of `kind`: the user's own and what ships with vtune."""
    found = {
        path.name[: -len(suffix)]
        for folder in _folders(kind)
        if folder.is_dir()
        for suffix in suffixes
        for path in folder.glob(f"*{suffix}")
    }
    return sorted(found)


def _folders(kind: str) -> tuple[Path, Path]:
    """Where `kind` is looked up by name, in this order."""
    return (config() if kind == "profiles" else data()) / kind, bundled(kind)
