"""Speculative decoding: proposals looked up in the text and those of a small draft model, against none.

Three tasks, greedy and sampled, one request at a time: whether guessed tokens pay hangs on how well they can be
guessed, and at more load the steps that guesses fill are taken from others.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from tui.engine.lever_values import Speculation
from tui.session.lab.study import Load, Study, chat, count
from tui.session.lab.tasks import TASKS
from tui.traffic.recording import Request

TEMPERATURES = (0, 1)
DRAFT = "bundled:smollm2-135m-draft"  # the bundled model cut to 6 layers
DRAFT_OF = "bundled:smollm2-135m"

_REQUESTS = 12  # of each task at each temperature, at scale 1
_ANSWER_TOKENS = 28
_STEP = {None: 1.0, "ngram": 0.8}  # decode time of an answer against none; other methods cost a model's steps
_DRAFTED = 2.0


def requests(scale: float) -> list[Request]:
    """At least five a group: below that there is no verdict on it. Tasks and temperatures take turns."""
    return [
        _request(task, temperature, number)
        for number in range(count(_REQUESTS, scale, 5))
        for task in TASKS
        for temperature in TEMPERATURES
    ]


def group(task: str, temperature: float) -> str:
    return f"{task} t={temperature:g}"


def _request(task: str, temperature: int, number: int) -> Request:
    """The same prompt at both temperatures would be found in the prefix cache; each has its own."""
    words = TASKS[task](random.Random(f"{task} {temperature} {number}"))
    sampled = {"seed": 1000 + number} if temperature else {}
    id = f"{task}-t{temperature}-{number + 1}"
    return chat(id, 0.0, words, _ANSWER_TOKENS, group(task, temperature), temperature=temperature, **sampled)


def load(value: str, sent: Sequence[Request]) -> Load:
    method = Speculation.read(value).method
    return Load(130 * len(sent), _ANSWER_TOKENS * len(sent) * _STEP.get(method, _DRAFTED))


STUDY = Study(
    name="speculative",
    lever="speculative",
    arms=("off", "ngram", f"draft-model:{DRAFT}:3"),
    few=("off", "ngram", f"draft-model:{DRAFT}:3"),
    cut=0.42,
    pace="closed:1",
    fix_lengths=False,  # past their own end answers repeat themselves, which n-grams guess well
    notes="Records to copy, answers of one form, and open writing, at temperature 0 and 1, one at a time.",
    longest=512,
    requests=requests,
    load=load,
)


def without_draft(study: Study) -> Study:
    """For another model: the bundled draft has another vocabulary."""
    keep = [tuple(arm for arm in arms if DRAFT not in arm) for arms in (study.arms, study.few)]
    return replace(study, arms=keep[0], few=keep[1])
