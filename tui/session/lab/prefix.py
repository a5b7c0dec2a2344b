"""Prefix caching: one long prefix before every question, one request at a time; off against on.

The first request of a replay has to compute the prefix, the later ones find it. The control has a time of day in
front of the same prefix, as careless templates do: nothing of it can be found again.
"""

from collections.abc import Sequence

from tui.session.lab.prompts import prose
from tui.session.lab.study import Control, Load, Study, count
from tui.traffic.recording import Request

PREFIX_TOKENS = 4096
CONTROL = "control"

_REQUESTS, _CONTROLS = 20, 10  # at scale 1
_ANSWER_TOKENS = 16
_QUESTIONS = (
    "Which of these pages names the bridge first?", "What is said of the copper in the first part?",
    "Who keeps the record of the road, and where?", "How is the water measured when the winter begins?",
    "Which number stands beside the window table?", "What comes after the letter in the second part?",
    "Where does the market line end, and for whom?", "When was the engine last put into its place?",
)  # fmt: skip


def requests(scale: float) -> list[Request]:
    """At least six: below five warm ones there is no verdict on them."""
    return [_request(f"q{n + 1}", n, _prefix()) for n in range(count(_REQUESTS, scale, 6))]


def controls(scale: float) -> list[Request]:
    times = (f"{8 + n % 12:02}:{(7 * n) % 60:02}:{(13 * n) % 60:02}" for n in range(count(_CONTROLS, scale, 2)))
    return [_request(f"c{n + 1}", n, f"2026-11-{11 + n % 12} {time}\n{_prefix()}") for n, time in enumerate(times)]


def _prefix() -> str:
    return prose("prefix", PREFIX_TOKENS)


def _request(id: str, number: int, system: str) -> Request:
    question = f"Question {number + 1}: {_QUESTIONS[number % len(_QUESTIONS)]}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    body = {"messages": messages, "max_tokens": _ANSWER_TOKENS, "temperature": 0, "stream": True}
    return Request(id, float(number), "/v1/chat/completions", body)


def load(value: str, sent: Sequence[Request]) -> Load:
    """With the prefix found, a question and the block that the prefix does not fill are computed."""
    beginnings = {request.body["messages"][0]["content"] for request in sent}
    found = value == "on" and len(beginnings) == 1
    tokens = PREFIX_TOKENS + 150 * (len(sent) - 1) if found else PREFIX_TOKENS * len(sent)
    return Load(tokens, _ANSWER_TOKENS * len(sent))


STUDY = Study(
    name="prefix",
    lever="prefix-caching",
    arms=("off", "on"),
    few=("off", "on"),
    cut=0.4,
    pace="closed:1",
    fix_lengths=False,
    notes=f"One prefix of {PREFIX_TOKENS} tokens and a question of its own in every request, one at a time.",
    longest=PREFIX_TOKENS + 304,
    requests=requests,
    load=load,
    control=Control(CONTROL, "on", controls),
)
