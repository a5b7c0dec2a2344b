"""Rows of requests that are looked at again and again, with one change or another: each prompt is counted once."""

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from tui.traffic.inspect import turns
from tui.traffic.inspect.rows import Row, ceiling, row
from tui.traffic.prefix import Prompt
from tui.traffic.recording import Request

Count = Callable[[Sequence[Request]], list[Sequence[int]]]  # the tokens of each request
AT_ONCE = 64  # prompts whose tokens are in memory together

PROMPT_KEYS = (
    "messages", "prompt", "tools", "chat_template", "chat_template_kwargs", "documents", "add_generation_prompt",
    "continue_final_message", "add_special_tokens",
)  # fmt: skip


@dataclass
class Counted:
    """Rows are kept, tokens are not: those of a turn only until the turns that carry its answer have been read."""

    count: Count
    block_size: int
    per_token: float | None = None  # characters, where tokens are made of them
    _rows: dict[Hashable, Row] = field(default_factory=dict)

    def rows(self, requests: Sequence[Request]) -> list[Row]:
        later = _followers(requests)
        keys = [key(request) for request in requests]
        names = [self._name(requests, keys, number, later.get(number, ())) for number in range(len(requests))]
        missing = {name: number for number, name in enumerate(names) if name not in self._rows}
        if missing:
            for number, found in self._counted(requests, set(missing.values()), later):
                self._rows[names[number]] = found
        pairs = zip(requests, names, strict=True)
        return [replace(self._rows[name], id=request.id, group=request.group) for request, name in pairs]

    def ceiling(self, requests: Sequence[Request]) -> float:
        return ceiling(self.rows(requests)) or 0.0

    def _name(self, requests: Sequence[Request], keys: list[bytes], number: int, later: Sequence[int]) -> Hashable:
        """What a row depends on: the prompt, its salt, and what later turns carry as its answer."""
        carried = tuple((keys[n], turns.answered(requests[number], requests[n], self.per_token)) for n in later)
        return keys[number], turns.salt(requests[number]), carried

    def _counted(self, requests: Sequence[Request], missing: set[int], later: dict[int, list[int]]):  # noqa: ANN202
        """(number, row) of the missing ones, each as soon as its tokens and its answer's are known."""
        needed = sorted(missing | {n for number in missing for n in later.get(number, ())})
        before = {n: number for number in missing for n in later.get(number, ())}
        held: dict[int, array[int]] = {}
        answers: dict[int, Sequence[int]] = {}
        for start in range(0, len(needed), AT_ONCE):
            part = needed[start : start + AT_ONCE]
            tokens = self.count([requests[number] for number in part])
            for number, ids in ((number, array("q", ids)) for number, ids in zip(part, tokens, strict=True)):
                parent = before.get(number)
                if parent is not None:
                    size = len(held[parent])
                    if ids[:size] == held[parent]:
                        length = turns.answered(requests[parent], requests[number], self.per_token)
                        answers[parent] = ids[size : size + length]
                    if number == later[parent][-1]:
                        yield parent, self._row(requests[parent], held.pop(parent), answers.pop(parent, ()))
                if number in missing:
                    if number in later:
                        held[number] = ids
                    else:
                        yield number, self._row(requests[number], ids, ())

    def _row(self, request: Request, tokens: Sequence[int], answer: Sequence[int]) -> Row:
        return row(Prompt(request.id, tokens, turns.salt(request), answer), self.block_size)


def key(request: Request) -> bytes:
    """Stands for everything of a body that its prompt is made of."""
    body = {name: request.body.get(name) for name in PROMPT_KEYS if name in request.body}
    return blake2b(json.dumps(body).encode(), digest_size=16).digest()


def _followers(requests: Sequence[Request]) -> dict[int, list[int]]:
    """By number, those that follow each request, in order."""
    place: dict[str, int] = {}
    later: dict[int, list[int]] = defaultdict(list)
    for number, request in enumerate(requests):
        if request.after in place:
            later[place[request.after]].append(number)
        place[request.id] = number
    return later
