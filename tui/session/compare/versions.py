"""vLLM's version as what an arm varies: `engine.python` names two installs, and readers want to know which."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tui.session.compare.pairing import Replayed

LEVER = "engine.python"


def of(replays: Iterable[Replayed]) -> list[str]:
    """The versions that the arm's engines told."""
    return sorted({r.result["engine"]["vllm"] for r in replays if r.result["engine"]["vllm"]})


def change(arm: Sequence[Replayed], base: Sequence[Replayed]) -> str:
    """``vLLM 0.32.0 to 0.33.1``; empty where they are the same, or not known."""
    ours, theirs = of(arm), of(base)
    return f"vLLM {', '.join(theirs)} to {', '.join(ours)}" if ours and theirs and ours != theirs else ""


def explained(why: str, suspicious: bool, claims: bool, changed: str) -> tuple[str, bool]:
    """`why` of a verdict with the change of vLLM before it, which may be the cause of what nothing else explains."""
    if not changed or not claims:
        return why, suspicious
    if why.startswith("suspicious: nothing"):
        return f"{changed}; nothing that was measured explains it", False
    return f"{changed}; {why}" if why else changed, suspicious


def caveats(vary: Iterable[str], of_arm: Mapping[str, Sequence[Replayed]]) -> list[str]:
    """Where interpreters are compared that turn out to have the same vLLM, or one that does not say which."""
    if not any(words.partition("=")[0].strip() == LEVER for words in vary):
        return []
    told = {name: of(replays) for name, replays in of_arm.items() if replays}
    if any(not found for found in told.values()):
        return ["an engine did not say which vLLM it is: what the interpreters differ in is not known"]
    if len(told) > 1 and len({tuple(found) for found in told.values()}) == 1:
        version = ", ".join(next(iter(told.values())))
        return [f"the interpreters have the same vLLM, {version}: what differs is something else installed there"]
    return []


def named(arm: Mapping[str, Any], arms: Iterable[Mapping[str, Any]]) -> str:
    """`` (vLLM 0.33.1)`` to put after an arm's name; empty where all arms of a comparison have the same."""
    known = {tuple(each["vllm"]) for each in arms if each.get("vllm")}
    return f" (vLLM {', '.join(arm['vllm']) or 'unknown'})" if len(known) > 1 else ""
