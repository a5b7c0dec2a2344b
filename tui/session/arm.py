"""An engine that serves one setting of the levers, and where engines wait that may be wanted again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tui.engine.applied import Applied
from tui.engine.launch import Launch
from tui.engine.process import Engine
from tui.metrics import device

ROOM = 2**30  # bytes that stay free beside a parked engine and the next one
_OWN = ("--port",)

Key = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Arm:
    """A running engine; `number` is that of its log and its events."""

    number: int
    launch: Launch
    engine: Engine
    applied: Applied


def key(launch: Launch) -> Key:
    """What makes two launches the same arm: all but the port and the launch's own mark."""
    env = {name: value for name, value in launch.env.items() if name != "VTUNE_LAUNCH"}
    return without_port(launch.argv), tuple(sorted(env.items()))


def without_port(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line without what is a launch's own."""
    words = list(argv)
    for flag in _OWN:
        if flag in words:
            at = words.index(flag)
            del words[at : at + 2]
    return tuple(words)


class Lot:
    """Parked engines, idle but alive (about 1 % of a core each on a CPU): the way back starts nothing.

    A stopped process is no way to park: it still accepts connections, and ignores TERM.
    """

    def __init__(self) -> None:
        self._arms: dict[Key, Arm] = {}

    def put(self, arm: Arm) -> None:
        self._arms[key(arm.launch)] = arm

    def take(self, wanted: Key) -> Arm | None:
        """The arm that runs exactly this, no longer parked."""
        return self._arms.pop(wanted, None)

    def remove(self, arm: Arm) -> bool:
        """Forget an arm that died; whether it was here."""
        return self._arms.pop(key(arm.launch), None) is not None

    def holds(self, wanted: Key) -> bool:
        return wanted in self._arms

    def surplus(self, keep: int, wanted: Key | None = None) -> Arm | None:
        """The arm parked longest, when there are more than `keep`; the wanted one last of all."""
        if len(self._arms) <= keep:
            return None
        first = next((k for k in self._arms if k != wanted), None)
        return self._arms.pop(first) if first is not None else None

    def __len__(self) -> int:
        return len(self._arms)


def can_park(arm: Arm) -> bool:
    """Only on a CPU: on a GPU an idle engine keeps the memory that the next one needs."""
    return (arm.applied.device or "").upper().startswith("CPU")


def has_room(pids: Collection[int]) -> bool:
    """Whether another engine like the one of `pids` fits beside it. Unknown is no."""
    used, memory = device.pss(pids), device.host_memory()
    return used is not None and memory is not None and memory.available > used + ROOM
