"""Model references: hub ids, paths, and the bundled model, which is made once out of a package."""

import json
import re
from pathlib import Path
from typing import Any

from tui import paths
from tui.errors import VtuneError

BUNDLED = "bundled:"
MODELS = ("smollm2-135m", "smollm2-135m-draft")


def is_bundled(ref: str) -> bool:
    return ref.startswith(BUNDLED)


def place(ref: str) -> Path:
    """Where the checkpoint of a bundled model is, or will be. VtuneError for a name that we do not ship."""
    name = ref.removeprefix(BUNDLED)
    if name not in MODELS:
        raise VtuneError(f"no bundled model {name!r}", f"use {' or '.join(BUNDLED + known for known in MODELS)}")
    return paths.cache() / "models" / name


def given(ref: str) -> str:
    """What vLLM is given for `ref`: a folder, or the hub id as it is."""
    if is_bundled(ref):
        return str(place(ref))
    path = Path(ref).expanduser()
    return str(path.resolve()) if path.exists() else ref


def is_local(ref: str) -> bool:
    """Whether nothing of `ref` has to be fetched from a hub."""
    return is_bundled(ref) or Path(ref).expanduser().exists()


def served_name(ref: str) -> str:
    """The name that requests use: the bundled name, the last part of a path, or the hub id."""
    if is_bundled(ref):
        return ref.removeprefix(BUNDLED)
    path = Path(ref).expanduser()
    return re.sub(r"[^\w.:/-]", "-", path.resolve().name) if path.exists() else ref


def facts(ref: str) -> dict[str, Any] | None:
    """The checkpoint's own config.json; None where it is not on this machine."""
    try:
        config = json.loads((Path(given(ref)) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, VtuneError):
        return None
    return config if isinstance(config, dict) else None


def positions(ref: str) -> int | None:
    """The context length in the checkpoint's own config, in tokens; None where it is not on this machine."""
    value = (facts(ref) or {}).get("max_position_embeddings")
    return value if isinstance(value, int) and value > 0 else None
