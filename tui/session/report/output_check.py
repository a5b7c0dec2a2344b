"""Whether the arms' answers are the baseline's: in a table, what tells chance apart, and where texts part."""

from collections.abc import Mapping
from typing import Any

from tui.session.report.figures import NONE
from tui.session.report.markdown import bullets, code, escaped, fence, table, visible

_GRAVE = ("changed", "unexplained", "too few")


def section(found: Mapping[str, Any]) -> str:
    """`found` is a vtune.comparison/1 object; empty where no check was wanted."""
    checked = found["output_check"]
    if checked is None:
        return ""
    parts = ["### Output check", _arms(checked), _controls(checked), bullets(map(escaped, checked["caveats"]))]
    parts += [_examples(row) for row in checked["arms"] if row["greedy"]["examples"]]
    return "\n\n".join(part for part in parts if part)


def _arms(checked: Mapping[str, Any]) -> str:
    head = ["arm", "answers", "greedy: equal", "sampled: nats a token", "p", "why"]
    return table(head, [_arm(row) for row in checked["arms"]], 2)


def _arm(row: Mapping[str, Any]) -> list[str]:
    greedy, likely = row["greedy"], row["likelihood"]
    word = f"**{row['word']}**" if row["word"] in _GRAVE else row["word"]
    shift = NONE if likely["shift"] is None else f"{likely['arm']:.2f} ({likely['shift']:+.2f})"
    return [
        code(row["arm"]),
        word,
        f"{greedy['equal']} of {greedy['n']}" if greedy["n"] else NONE,
        shift,
        NONE if likely["p"] is None else f"{likely['p']:.2g}",
        escaped(row["why"]) or NONE,
    ]


def _controls(checked: Mapping[str, Any]) -> str:
    same, warm = checked["same_arm"], checked["cold_warm"]
    found = [f"A against A: {same['equal']} of {same['n']} greedy answers of the baseline's own replays are equal."]
    if not same["n"]:
        found = ["There is no greedy request: texts differ anyway, and only their likelihood is compared."]
    if warm is not None and warm["n"]:
        gap = "" if warm["largest_gap"] is None else f", they part within {warm['largest_gap']:.2f} nats"
        found.append(f"Cold against warm, on {code(warm['arm'])}: {warm['equal']} of {warm['n']} prompts have the same "
                     f"answer computed and from the cache{gap}.")  # fmt: skip
    elif warm is not None:
        found.append(f"Cold against warm, on {code(warm['arm'])}: no prompt was found in the cache the second time.")
    likely = "Likelihoods are the baseline's engine's own, of answers that differ: lower is broken text, higher may be "
    return " ".join([*found, likely + "repetition."])


def _examples(row: Mapping[str, Any]) -> str:
    first = row["greedy"]["examples"][0]
    place = "" if first["token"] is None else f" at token {first['token']}"
    more = "at least " if first["gap_is_more"] else ""
    gap = "" if first["gap"] is None else f", {more}{first['gap']:.2f} nats apart"
    head = f"{code(row['arm'])}, request {code(first['id'])}: {first['kind']}{place}{gap}."
    around = first["around"]
    body = f"baseline  {visible(around['baseline'])}\narm       {visible(around['arm'])}"
    return f"{head}\n\n{fence(body)}"
