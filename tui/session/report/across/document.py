"""The Markdown report of several sessions."""

import math
from collections.abc import Mapping

from tui.session.report.across.build import METRICS, Across, Arm, Figure, Row, letter
from tui.session.report.closing import all_caveats
from tui.session.report.figures import NONE, acceptance, count, hits, number, ratio, seconds, size
from tui.session.report.markdown import bullets, code, escaped, fence, picture, table

_SHOWN = {
    "ttft_s.p50": "TTFT p50", "ttft_s.p95": "TTFT p95", "tpot_s.p50": "TPOT p50", "e2e_s.p50": "E2E p50",
    "throughput.output_tokens_per_s": "output tokens/s",
}  # fmt: skip
_HOW = (
    "Held against session A, over the requests that succeeded in every replay of both. The sessions were not mirrored "
    "against each other, as the arms of one comparison are: what drifted between them is in every ratio, so there are "
    "no verdicts here. *Beyond noise* is more than twice (in logarithms) what replays of one arm differ by within a "
    "session."
)


def write(found: Across, figures: Mapping[str, tuple[str, str]] | None = None) -> str:
    shown = {what: picture(*figure) for what, figure in (figures or {}).items()}
    names = [escaped(m.state.header.get("session") or "without a name") for m in found.materials]
    parts = [
        f"# vtune report: {len(names)} sessions",
        " ".join([_what(found), _difference(found), _ending(found)]),
        shown.get("ttft", ""),
        "## Can they be compared?",
        bullets(map(escaped, found.obstacles)) or "Recording, model, pace, KV pool and class of start are the same.",
        _sessions(found, names),
        *_compared(found),
        "## Arms",
        _arms(found),
        shown.get("course", ""),
        "## Caveats",
        _caveats(found),
        "## Read each",
        fence("\n".join(f"vtune report {m.state.header.get('session') or 'SESSION'}" for m in found.materials), "sh"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _what(found: Across) -> str:
    versions = dict(found.differences)["vLLM"]
    listed = ", ".join(f"{letter(i)} on vLLM {escaped(version)}" for i, version in enumerate(versions))
    shared = "no arm is in A and another" if not found.rows else f"{len(found.rows)} arms are in A and another"
    return f"{len(found.materials)} sessions, {listed}; {shared.replace('1 arms are', '1 arm is')}."


def _difference(found: Across) -> str:
    claims = [
        (round(abs(math.log(value)), 3), row, name, place, value)
        for row in found.rows
        for name, figure in row.figures.items()
        for place, value in enumerate(figure.ratios)
        if value and figure.words[place] == "beyond noise"
    ]
    if claims:
        _, row, name, place, value = max(claims, key=lambda claim: claim[0])
        return (
            f"The largest difference beyond noise is {_SHOWN[name]} of {code(row.label)} in {letter(place)}: "
            f"{ratio(value)} times A's."
        )
    told = [f for row in found.rows for f in row.figures.values() if any(value is not None for value in f.ratios)]
    if not told:
        return "Nothing in them can be held against each other."
    if any("noise unknown" in figure.words for figure in told):
        return "No arm was replayed twice in a session, so that chance is not ruled out for any difference."
    return "No difference is beyond what replays of one arm differ by."


def _ending(found: Across) -> str:
    many = len(found.obstacles)
    return "Nothing stands against comparing them." if not many else (
        f"{many} thing{'s' if many > 1 else ''} that must be equal for that {'are' if many > 1 else 'is'} not."
    )  # fmt: skip


def _sessions(found: Across, names: list[str]) -> str:
    head = ["", *(f"{letter(i)}: {name}" for i, name in enumerate(names))]
    rows = []
    for name, values in found.differences:
        differs = len(set(values)) > 1
        rows.append([f"**{name}**" if differs else name, *(escaped(value) for value in values)])
    return table(head, rows, len(head))


def _compared(found: Across) -> list[str]:
    if not found.rows:
        return []
    parts = ["## The same levers in each", _HOW]
    for row in found.rows:
        replays = ", ".join(f"{letter(i)} {len(arm.runs)}" for i, arm in enumerate(row.arms) if arm)
        parts += [f"### {escaped(row.label or 'without a label')}", f"Replays: {replays}.", _table(row)]
    return parts


def _table(row: Row) -> str:
    there = [i for i, arm in enumerate(row.arms) if arm is not None]
    head = ["metric", *(letter(i) for i in there), *(f"{letter(i)} / A" for i in there[1:]), "n", "replays differ by"]
    return table(head, [_line(_SHOWN[name], name, figure, there) for name, figure in row.figures.items()], 1)


def _line(shown: str, name: str, figure: Figure, there: list[int]) -> list[str]:
    values = [_amount(name, figure.values[i]) for i in there]
    ratios = [
        NONE if figure.ratios[i] is None else f"{ratio(figure.ratios[i])}, {figure.words[i]}" for i in there[1:]
    ]
    n = ", ".join(dict.fromkeys(str(figure.n[i]) for i in there[1:]))
    return [shown, *values, *ratios, n, NONE if figure.noise is None else f"x{figure.noise:.2f}"]


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return NONE
    return number(value) if METRICS[name][0] is None else seconds(value)


def _arms(found: Across) -> str:
    head = ["session", "arm", "replays", "vLLM", "TTFT p50", "TPOT p50", "hit rate", "acceptance", "KV cache tokens",
            "memory peak"]  # fmt: skip
    rows = [_arm(letter(i), arm) for i, arms in enumerate(found.arms) for arm in arms]
    return table(head, rows, 2) if rows else "No session has a run that ended."


def _arm(name: str, arm: Arm) -> list[str]:
    results = [run.result for run in arm.runs]

    def each(words: list[str]) -> str:
        return ", ".join(dict.fromkeys(words)) or NONE

    return [
        name,
        code(arm.label),
        str(len(results)),
        each([escaped(r["engine"]["vllm"] or "unknown") for r in results]),
        each([seconds(r["ttft_s"]["all"]["p50"]) for r in results]),
        each([seconds(r["tpot_s"]["p50"]) for r in results]),
        each([hits(r["prefix_cache"]) for r in results]),
        each([acceptance(r["speculative"]) for r in results]),
        each([count(r["engine"]["kv_cache_tokens"]) for r in results]),
        each([size(r["memory"]["engine_pss_peak_bytes"]) for r in results]),
    ]


def _caveats(found: Across) -> str:
    rows = [f"{letter(i)}: {words}" for i, material in enumerate(found.materials) for words in all_caveats(material)]
    return bullets(rows) or "None that vtune knows of in any of them."
