"""What the keys are called on screen, for sentences such as "r replays the recording"; a remapped key has its own name.

One application runs per process: it says which keys it has when it is made.
"""

from collections.abc import Mapping

_DEFAULTS = {
    "replay": "r", "apply": "a", "undo": "u", "drop": "U", "cancel": "x", "baseline": "b", "restart": "R", "log": "l",
    "help": "?", "record": "t", "maximise": "m", "lever.toggle": "space", "lever.edit": "enter", "back": "escape",
    "area.ttft": "1", "area.kv": "2", "area.prefix": "3", "area.acceptance": "4", "area.levers": "5", "area.runs": "6",
    "area.requests": "7",
}  # fmt: skip
_names = dict(_DEFAULTS)


def use(remapped: Mapping[str, str]) -> None:
    """`remapped`: action -> the key's name on screen; the other actions have their own keys again."""
    _names.clear()
    _names.update({**_DEFAULTS, **remapped})


def key(action: str) -> str:
    """The name of the key for `action`, the first where there are several."""
    return _names[action]
