"""What the speculative experiment asks for: answers that copy, answers of one form, and answers made up freely.

Everything is drawn from the same few lists, so a task has as many different requests as are wanted.
"""

import random
from collections.abc import Callable

_NAMES = (
    "Noor Castellan", "Hanne Vester", "Tobias Renn", "Marisol Ekdahl", "Emeka Lind", "Aino Berg", "Petra Silje",
    "Omar Keel", "Jorge Maal", "Salma Idris", "Ivo Tarn", "Greta Quill",
)  # fmt: skip
_THINGS = ("camping stove", "drift lantern", "cook set", "water filter", "folding table", "storm tent", "gas mixture")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_TOWNS = ("Torne", "Massel", "Halden", "Osier", "Pellar")
_SUBJECTS = ("a kettle", "the night bus", "a gull", "an old lantern", "the river", "a lost umbrella", "the last baker")
_TURNS = (
    "that refuses to whistle on Mondays", "that took a different road", "in its first week at the quay",
    "that is about to retire", "that learned to read maps", "that nobody in town remembers",
)  # fmt: skip


def extract(draw: random.Random) -> str:
    """Records to copy as they are: nearly every token of the answer stands in the prompt."""
    rows = [
        f'{{"order": "P{draw.randrange(10000, 99999)}", "name": "{name}", "article": "{draw.choice(_THINGS)}", '
        f'"pieces": {draw.randrange(2, 400)}}}'
        for name in draw.sample(_NAMES, 3)
    ]
    return "Copy these JSON records exactly as they are, one a line, without a comment:\n" + "\n".join(rows)


def template(draw: random.Random) -> str:
    """A reply in a form that the prompt shows filled in twice: the form repeats, the names do not."""
    first, second, third = ((name, draw.choice(_THINGS), draw.choice(_DAYS), draw.choice(_TOWNS))
                            for name in draw.sample(_NAMES, 3))  # fmt: skip
    shown = "\n".join(f"{_asked(*one)}\n{_filled(*one)}\n" for one in (first, second))
    return f"Answer the last line in the same form as the ones before it.\n\n{shown}\n{_asked(*third)}"


def _asked(name: str, thing: str, day: str, town: str) -> str:
    return f"Customer: {name}, {thing}, {day}, {town}"


def _filled(name: str, thing: str, day: str, town: str) -> str:
    return (
        f"Reply: Dear {name}, thank you for your order. Your {thing} leaves our warehouse on {day} and will reach "
        f"{town} within three working days. Kind regards, the service desk"
    )


def write(draw: random.Random) -> str:
    """Something new: hardly a token of the answer can be looked up."""
    return f"Write a short story about {draw.choice(_SUBJECTS)} {draw.choice(_TURNS)}. Chapter {draw.randrange(2, 99)}."


TASKS: dict[str, Callable[[random.Random], str]] = {"extract": extract, "template": template, "write": write}
