from collections import Counter

import pytest

from tui.traffic.outcome import classify
from tui.traffic.recording import load

COUNTS = {
    "rag-handbook": {"ask": 27, "review": 5},
    "mixed-lengths": {"long": 4, "short": 20},
    "extract-and-write": {"extract": 8, "write": 8},
}


def cached(request):
    return request.reply["usage"]["prompt_tokens_details"]["cached_tokens"]


def prompt_tokens(request):
    return request.reply["usage"]["prompt_tokens"]


def test_each_is_found_by_its_name(shipped):
    assert load(shipped.name).requests == shipped.requests


def test_groups_and_counts(shipped):
    assert Counter(request.group for request in shipped.requests) == COUNTS[shipped.name]


def test_bodies_are_what_a_chat_application_sends(shipped):
    for request in shipped.requests:
        body = request.body
        assert request.path == "/v1/chat/completions"
        assert body["stream"] and body["stream_options"] == {"include_usage": True}
        assert body["messages"][0]["role"] == "system" and body["messages"][-1]["role"] == "user"
        assert 0 < body["max_tokens"] <= 128


def test_every_request_was_answered_by_an_engine(shipped):
    for request in shipped.requests:
        reply = request.reply
        assert reply["status"] == 200
        assert 0 < reply["ttft_s"] <= reply["e2e_s"]
        assert reply["usage"]["completion_tokens"] <= request.body["max_tokens"]


def test_a_later_turn_follows_its_answer_after_the_thinking_time(shipped):
    by_id = {request.id: request for request in shipped.requests}
    for request in shipped.requests:
        if request.after is None:
            assert len(request.body["messages"]) == 2
            continue
        before = by_id[request.after]
        assert request.body["messages"][: len(before.body["messages"])] == before.body["messages"]
        # The stream ends a moment after its last content chunk, from which e2e_s counts.
        waited = request.at - (before.at + before.reply["e2e_s"])
        assert request.think_s <= waited + 0.002 and waited < request.think_s + 1


def test_the_handbook_has_users_with_several_turns_and_takes_about_two_minutes():
    requests = load("rag-handbook").requests
    assert sum(request.after is not None for request in requests) >= 8
    last = requests[-1]
    assert 90 < last.at + last.reply["e2e_s"] < 150
    assert all(request.body["max_tokens"] == 32 and request.body["temperature"] == 0 for request in requests)
    assert all(900 < prompt_tokens(request) < 2500 for request in requests)


def test_the_handbook_has_the_same_instructions_for_every_question():
    asked = [request for request in load("rag-handbook").requests if request.group == "ask"]
    assert len({request.body["messages"][0]["content"] for request in asked}) == 1


def test_the_handbook_was_cold_partial_and_warm_when_it_was_recorded():
    requests = load("rag-handbook").requests
    kinds = Counter(classify(cached(request), prompt_tokens(request)) for request in requests)
    assert kinds["cold"] >= 5 and kinds["partial"] >= 4 and kinds["warm"] >= 12
    assert sum(cached(request) >= 0.7 * prompt_tokens(request) for request in requests) >= 12


def test_mixed_lengths_are_long_and_short_at_the_same_time_and_share_nothing():
    requests = load("mixed-lengths").requests
    long = [request for request in requests if request.group == "long"]
    short = [request for request in requests if request.group == "short"]
    assert all(2500 < prompt_tokens(request) < 3500 for request in long)
    assert all(100 < prompt_tokens(request) < 200 for request in short)
    assert sum(cached(request) for request in requests) == 0
    for request in long:
        end = request.at + request.reply["e2e_s"]
        assert any(request.at < other.at < end for other in short)


@pytest.mark.parametrize(("group", "temperature"), [("extract", 0.0), ("write", 0.9)])
def test_copying_is_greedy_and_writing_is_sampled_with_a_seed(group, temperature):
    bodies = [request.body for request in load("extract-and-write").requests if request.group == group]
    assert {body["temperature"] for body in bodies} == {temperature}
    seeds = [body["seed"] for body in bodies if "seed" in body]
    assert len(set(seeds)) == len(seeds) == (8 if group == "write" else 0)
