"""What changed between two settings of the levers, or two runs, in words."""

from typing import TYPE_CHECKING

from tui.engine.kv_pool import PINNED

if TYPE_CHECKING:
    from tui.session.state import RunRecord, State


def describe_change(before: dict[str, str], after: dict[str, str]) -> str:
    """What differs between two settings of the levers: ``prefix-caching off, max-num-seqs 64``.

    A pool that vtune pinned is no change: it is there so that none happens.
    """
    names = [name for name in dict.fromkeys((*after, *before)) if name != PINNED]
    return ", ".join(f"{name} {after.get(name, 'unset')}" for name in names if before.get(name) != after.get(name))


def change_since(before: "RunRecord", state: "State") -> str:
    """What a run made now changes against the run `before`, as its label."""
    changes = [describe_change(state.engines[before.engine].asked, state.asked)]
    if before.recording.get("sha256") != state.recording.get("sha256"):
        changes.append(f"recording {state.recording.get('name')}")
    return ", ".join(filter(None, changes)) or "same again"
