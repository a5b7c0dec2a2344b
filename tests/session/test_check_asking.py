"""What an engine is asked about answers, in the words of vLLM's API, and what becomes of refusals."""

import json
from dataclasses import replace

import httpx
import pytest
from made_replays import outcome

from tui.session.check.answer import distinct
from tui.session.check.asker import OF_A_REQUEST, SCORED, Asker, parting_pairs, to_score
from tui.session.check.temperature import greedy_ids
from tui.traffic.recording import Request

WORDS = ["<user>", "ask", "the", "night", "was", "cold", "dark", "still"]


class Engine:
    """Tokens are words; the next word is `cold`, or `dark` nearly as likely. Shapes are those of vLLM 0.32."""

    def __init__(self, refuse: str = "") -> None:
        self.refuse, self.asked, self.served = refuse, [], 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.asked.append((request.url.path, body))
        if self.refuse and self.refuse in (request.url.path, *body):
            return httpx.Response(400, json={"error": {"message": "not here", "code": 400}})
        return httpx.Response(200, json=self._answer(request.url.path, body))

    def _answer(self, path: str, body: dict) -> dict:
        if path == "/tokenize":
            words = body["prompt"].split() if "prompt" in body else ["<user>", body["messages"][0]["content"]]
            return {"count": len(words), "max_model_len": 64, "tokens": [WORDS.index(w) for w in words]}
        if path == "/v1/chat/completions":
            self.served += 1
            cached = {"prompt_tokens_details": {"cached_tokens": 128 * (self.served % 2 == 0)}}
            text = "the night was cold" if self.served % 2 else "the night was dark"
            return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": cached}
        choice: dict = {"index": 0, "text": "x", "finish_reason": "length"}
        if "prompt_logprobs" in body:
            rows = [{str(t): {"logprob": -t / 10, "rank": 1, "decoded_token": WORDS[t]}} for t in body["prompt"][1:]]
            choice["prompt_logprobs"] = [None, *rows]
        if "logprobs" in body:
            likely = {"token_id:5": -0.7, "token_id:6": -0.9, "token_id:7": -4.0}
            choice["logprobs"] = {"tokens": ["token_id:5"], "token_logprobs": [-0.7], "top_logprobs": [likely]}
        return {"choices": [choice]}


@pytest.fixture
def asking():
    """An Asker, the events that it told, and its engine."""

    def make(refuse: str = ""):
        engine, told = Engine(refuse), []
        client = httpx.AsyncClient(transport=httpx.MockTransport(engine))
        requests = {f"r{i:03}": request(f"r{i:03}") for i in range(12)}
        asker = Asker(lambda e, **values: told.append({"e": e, **values}), client, "http://engine", "m", requests)
        return asker, told, engine

    return make


def request(id: str, **body) -> Request:
    chat = {"messages": [{"role": "user", "content": "ask"}], "max_tokens": 500, "temperature": 0, "stream": True}
    return Request(id, 0.0, "/v1/chat/completions", chat | body)


def arms(texts: dict[str, list[str]], **changes) -> dict:
    """Arm -> the text of r000 in each of its replays."""
    rows = [(arm, text) for arm, several in texts.items() for text in several]
    return distinct((arm, n, [replace(outcome(0, 0.2, 0.03), text=text, prompt_tokens=2, **changes)])
                    for n, (arm, text) in enumerate(rows, 1))  # fmt: skip


async def test_a_fork_is_asked_after_the_prompt_and_all_that_both_have(asking):
    asker, told, engine = asking()
    found = arms({"A": ["the night was cold"] * 2, "B": ["the night was dark still"] * 2})
    await asker.forks(parting_pairs(found, "A", ["r000"]))
    (event,) = told
    assert (event["e"], event["asked"], event["runs"]) == ("check", "fork", [1, 3])
    assert event["fork"] == {"token": 3, "gap": pytest.approx(0.2), "more": False}
    path, body = engine.asked[-1]
    assert path == "/v1/completions" and body["prompt"] == [0, 1, 2, 3, 4]
    assert body["max_tokens"] == 1 and body["return_tokens_as_token_ids"] and "prompt_logprobs" not in body


async def test_likelihood_is_of_the_answers_own_tokens(asking):
    asker, told, engine = asking()
    found = arms({"A": ["the night"], "B": ["dark still"]})
    await asker.likelihoods(to_score(found, "A", ["r000"]))
    assert [(e["n"], e["tokens"], e["logprob"]) for e in told] == [(1, 2, -0.25), (2, 2, -0.65)]
    _, body = engine.asked[-1]
    assert body["prompt"] == [0, 1, 6, 7] and body["max_tokens"] == 1


async def test_a_tie_within_one_arm_is_asked_too(asking):
    asker, told, _ = asking()
    found = arms({"A": ["the night was cold", "the night was dark"], "B": ["the night was cold"]})
    await asker.forks(parting_pairs(found, "A", ["r000"]))
    assert [event["runs"] for event in told] == [[1, 2]]


async def test_cold_and_warm_are_the_same_request_twice_in_one_name_space(asking):
    asker, told, engine = asking()
    lengths = (7000, 100, 300, 200, 5400)
    rows = [replace(outcome(i, 0.2, 0.03), prompt_tokens=tokens) for i, tokens in enumerate(lengths)]
    await asker.cold_and_warm("B", 2, rows, [o.id for o in rows], 128)
    assert [event["id"] for event in told] == ["r003", "r002", "r004"]  # the shortest that hold a block
    assert (told[0]["n"], told[0]["arm"], told[0]["cached"]) == (2, "B", 128)
    assert told[0]["cold"] != told[0]["warm"] and told[0]["fork"]["gap"] == pytest.approx(0.2)
    assert "night" not in json.dumps(told)  # what was said is nobody's business
    cold, warm = [body for path, body in engine.asked if "chat" in path][:2]
    assert cold == warm and cold["max_tokens"] == 32 and not cold["stream"] and cold["cache_salt"]


@pytest.mark.parametrize("refuse", ["/tokenize", "prompt_logprobs"])
async def test_an_engine_that_refuses_is_told_once_and_ends_nothing(asking, refuse):
    asker, told, _ = asking(refuse)
    await asker.likelihoods(to_score(arms({"A": ["the night"], "B": ["dark still"]}), "A", ["r000"]))
    assert {event["asked"] for event in told} == {"fault"} and "HTTP 400" in told[0]["what"]
    many = arms({"A": [f"the night{n * ' was'}" for n in range(2)], "B": [f"dark{n * ' still'}" for n in range(2)]})
    await asker.likelihoods(3 * to_score(many, "A", ["r000"]))
    assert len(told) == 3  # and no more: whoever refuses so often does so for ever


async def test_a_prompt_of_tokens_needs_no_tokenizer(asking):
    asker, told, engine = asking()
    asker.requests["r000"] = Request("r000", 0.0, "/v1/completions", {"prompt": [0, 1], "temperature": 0})
    await asker.likelihoods(to_score(arms({"A": ["the night"], "B": ["dark still"]}), "A", ["r000"]))
    assert engine.asked[-1][1]["prompt"] == [0, 1, 6, 7] and len(told) == 2


def test_at_most_sixteen_answers_an_arm_and_none_after_a_long_prompt():
    def many(length: int) -> dict:
        blank = [replace(outcome(i, 0.2, 0.03), prompt_tokens=length) for i in range(40)]
        return distinct(
            (arm, n, [replace(o, text=f"{n} {o.id}") for o in blank]) for n, arm in enumerate("ABBAAB", 1)
        )

    ids = [f"r{i:03}" for i in range(40)]
    chosen = to_score(many(900), "A", ids)
    assert len(chosen) == 2 * SCORED and all(sum(c.id == i for c in chosen) in (0, 2 * OF_A_REQUEST) for i in ids)
    assert not to_score(many(1001), "A", ids)


def test_greedy_is_what_says_so():
    rows = [request("a"), request("b", temperature=0.0), request("c", temperature=0.7), request("d", n=2)]
    unset = Request("e", 0.0, "/v1/chat/completions", {"messages": []})
    assert greedy_ids([*rows, unset]) == ["a", "b"]
