"""The person's own keys: ``keys.yaml`` in the configuration folder, a line per action.

    replay: f5
    log: [l, ctrl+l]

An action keeps its own keys where the file does not name it. Raises VtuneError with file and line.
"""

import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, format_key, key_to_character

from tui import paths
from tui.errors import VtuneError

NAME = "keys.yaml"
_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_NAMED = {key.value for key in Keys if "<" not in key.value} | {f"f{number}" for number in range(1, 25)}


def groups() -> list[list[Binding]]:
    """What can be remapped, by the place where it is offered: in one place no key may mean two things."""
    from tui.app import VtuneApp
    from tui.screens.choose import Choose
    from tui.screens.confirm import Confirm
    from tui.screens.dashboard import Dashboard
    from tui.screens.help import HelpScreen
    from tui.screens.log import LogScreen
    from tui.screens.palette import Palette
    from tui.screens.prompt import Prompt
    from tui.screens.reopened.dashboard import ReopenedDashboard
    from tui.widgets.lever_list import LeverList
    from tui.widgets.levers import ValueInput

    everywhere = declared(VtuneApp)
    return [
        [*declared(LeverList), *declared(Dashboard), *everywhere],
        [*declared(ReopenedDashboard), *everywhere],
        [*declared(LogScreen), *everywhere],
        *(declared(screen) for screen in (HelpScreen, Confirm, Choose, Palette, Prompt, ValueInput)),
    ]


def declared(owner: type) -> list[Binding]:
    """The bindings with an id that a class of ours has; one that it hides from its base class is not among them."""
    found: list[Binding] = []
    hidden: set[str] = set()
    for one in owner.__mro__:
        if not one.__module__.startswith("tui."):
            break
        own = [binding for binding in one.__dict__.get("BINDINGS", ()) if isinstance(binding, Binding)]
        found += [binding for binding in own if binding.id and not set(binding.key.split(",")) <= hidden]
        hidden.update(key for binding in own for key in binding.key.split(","))
    return found


def load() -> dict[str, str]:
    """Action -> its keys, comma between them, of those that the file names; nothing where there is no file."""
    path = paths.config() / NAME
    if not path.is_file():
        return {}
    from tui.engine.profile import entries  # YAML is only loaded where there is a file

    known = groups()
    ids = sorted({binding.id for group in known for binding in group if binding.id})
    mapped: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, action, value in entries(path):
        where = f"{path}:{line}"
        if action not in ids:
            near = get_close_matches(action, ids, 1)
            raise VtuneError(
                f"{where}: unknown action {action!r}{f', is {near[0]!r} meant?' if near else ''}",
                "`vtune keys` lists the actions",
            )
        mapped[action], lines[action] = ",".join(_keys(where, value)), line
    for group in known:
        _check(path, group, mapped, lines)
    return mapped


def _keys(where: str, value: Any) -> list[str]:
    words = value if isinstance(value, list) else [value]
    if not words:
        raise VtuneError(f"{where}: no key", "name a key, such as f5, or leave the line out")
    return [_key(where, str(word) if isinstance(word, (str, int)) and word is not True else "") for word in words]


def _key(where: str, word: str) -> str:
    """Textual's long name of a key: ``?`` is ``question_mark``."""
    *modifiers, last = word.split("+") if len(word) > 1 else [word]
    name = last
    if len(last) == 1 and not last.isalnum() and last.isprintable():
        name = unicodedata.name(last, "").lower().replace("-", "_").replace(" ", "_")
        name = KEY_NAME_REPLACEMENTS.get(name, name)
    known = name in _NAMED or (len(last) == 1 and last.isprintable()) or key_to_character(name) is not None
    if not last or not known or not set(modifiers) <= _MODIFIERS:
        raise VtuneError(f"{where}: {word!r} is no key", "such as f5, R, ctrl+r, space or question_mark")
    return "+".join([*modifiers, name])


def _check(path: Path, group: list[Binding], mapped: Mapping[str, str], lines: Mapping[str, int]) -> None:
    taken: dict[str, str] = {}
    # Those that keep their keys first, so that it is a line of the file that is told.
    for binding in sorted(group, key=lambda one: one.id in mapped):
        assert binding.id is not None
        for key in mapped.get(binding.id, binding.key).split(","):
            other = taken.setdefault(key, binding.id)
            if key in binding.key.split(","):
                continue  # its own key, which may stand before the same key of all places
            if other != binding.id and binding.id in mapped:
                raise VtuneError(
                    f"{path}:{lines[binding.id]}: {format_key(key)} is the key of {other}",
                    f"choose another key for {binding.id}, or give {other} another one too",
                )


def shown(keys: str) -> list[str]:
    """Keys with a comma between them, each as it is shown on screen."""
    return [format_key(key) for key in keys.split(",")]


def names(mapped: Mapping[str, str]) -> dict[str, str]:
    """Action -> its first key as shown on screen."""
    return {action: shown(keys)[0] for action, keys in mapped.items()}
