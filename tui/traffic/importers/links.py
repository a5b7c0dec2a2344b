"""Which request follows whose answer."""

from array import array

from tui.traffic.importers.kept import Kept
from tui.traffic.importers.report import Report, counted

_SHORTEST_ANSWER_S = 0.004  # seconds a token; few engines make 250 tokens a second for one request


def previous_turns(kept: Kept) -> dict[int, int]:
    """The turn before each turn of a session, in the order of the file; for turns that have only a delay."""
    last: dict[str, int] = {}
    found = {}
    for number, session in kept.sessions.items():
        if session in last:
            found[number] = last[session]
        last[session] = number
    return found


def link(kept: Kept, order: list[int], at: "array[float]", chain: bool, report: Report) -> dict[int, int]:
    """Number of the request that each one follows; only ones that come earlier in `order` can be followed.

    A source's own link wins; then a recorded answer that the prompt repeats; then, with `chain`, the turn before in
    the session, where that one was over.
    """
    follows: dict[int, int] = {}
    placed = array("q", b"\xff" * 8 * len(kept))
    by_answer: dict[bytes, int] = {}
    last: dict[str, int] = {}
    lost = early = 0
    for place, number in enumerate(order):
        parent = kept.parents.get(number)
        if parent is not None:
            target = kept.numbers.get(parent)
            if target is None:
                lost += 1
            elif target != number and placed[target] >= 0:
                follows[number] = target
            else:
                early += 1
        elif (target := _heard(kept, number, by_answer)) is not None:
            follows[number] = target
        elif (
            chain
            and (before := last.get(kept.sessions.get(number, ""))) is not None
            and _over(kept, before, number, at)
        ):
            follows[number] = before
        placed[number] = place
        if number in kept.answers:
            by_answer[kept.answers[number]] = number
        if number in kept.sessions:
            last[kept.sessions[number]] = number
    _tell(kept, follows, at, lost, early, report)
    return follows


def _heard(kept: Kept, number: int, by_answer: dict[bytes, int]) -> int | None:
    return next((by_answer[d] for d in reversed(kept.heard.get(number, ())) if d in by_answer), None)


def _over(kept: Kept, before: int, number: int, at: "array[float]") -> bool:
    return at[before] + kept.lasted.get(before, 0.0) <= at[number] + 1e-9


def _tell(kept: Kept, follows: dict[int, int], at: "array[float]", lost: int, early: int, report: Report) -> None:
    loops = _loops(kept)
    children: dict[int, int] = {}
    for target in follows.values():
        children[target] = children.get(target, 0) + 1
    soon = sum(
        1 for number, target in follows.items()
        if target in kept.outputs and at[number] - at[target] < kept.outputs[target] * _SHORTEST_ANSWER_S
    )  # fmt: skip
    report.links = {
        "linked": len(follows), "forks": sum(1 for n in children.values() if n > 1), "lost_parents": lost,
        "loops": loops, "before_their_answer": soon + max(0, early - loops),
    }  # fmt: skip
    told = [
        (
            report.links["linked"],
            "turn waits",
            "turns wait",
            "for the answer before it (closed loop within a conversation)",
        ),
        (report.links["forks"], "answer is", "answers are", "followed by more than one turn"),
        (lost, "turn names", "turns name", "a parent that the file does not have: sent at its time"),
        (loops, "turn follows itself", "turns follow themselves", "in a loop of links: sent at its time"),
        (
            report.links["before_their_answer"],
            "turn arrives",
            "turns arrive",
            "before the answer that it follows could have ended",
        ),
    ]
    report.notes += [f"{counted(n, one, more)} {what}" for n, one, more, what in told if n]


def _loops(kept: Kept) -> int:
    """Requests that lie on a circle of links."""
    state: dict[int, int] = {}
    found = 0
    for start in kept.parents:
        path = []
        number: int | None = start
        while number is not None and number not in state:
            state[number] = start
            path.append(number)
            number = kept.numbers.get(kept.parents.get(number, "\0"))
        if number is not None and state[number] == start and number in path:
            found += len(path) - path.index(number)
    return found
