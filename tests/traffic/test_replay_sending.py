"""What a replay sends, and when."""

import json
import os
from itertools import pairwise

import pytest
from replaying import chat, replay, spec
from standin.fixture import serving

from tui.errors import Exit, VtuneError
from tui.traffic.recording import Request
from tui.traffic.replay import Replay
from tui.traffic.replay.body import Rewriter, live_messages


def turn(id, after, answer, **more):
    messages = [
        {"role": "user", "content": "First?"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "And then?"},
    ]
    return chat(id, after=after, messages=messages, **more)


async def test_bodies_go_out_as_recorded_but_for_what_a_run_needs(tmp_path):
    options = {"continuous_usage_stats": True}
    request = chat("a", temperature=0.3, vendor={"x": "é\u2028"}, stream=False, stream_options=options)
    async with serving() as standin:
        await replay(standin.url, tmp_path, [request], cache_salt="s1")
        seen = standin.server.seen[0]
    expected = {**request.body, "model": "smollm2-135m", "stream": True, "cache_salt": "s1"}
    expected["stream_options"] = {"continuous_usage_stats": True, "include_usage": True}
    assert seen["body"] == expected
    assert seen["headers"]["x-request-id"].startswith("vtune-")
    assert "authorization" not in seen["headers"]


async def test_request_ids_differ_within_and_between_runs(tmp_path):
    async with serving() as standin:
        for _ in range(2):
            await replay(standin.url, tmp_path, [chat("a"), chat("b")])
        ids = [seen["headers"]["x-request-id"] for seen in standin.server.seen]
    assert len(set(ids)) == 4


async def test_a_cache_salt_makes_a_cold_name_space(tmp_path):
    long = "word " * 900
    async with serving() as standin:
        first = await replay(standin.url, tmp_path, [chat("a", long)])
        again = await replay(standin.url, tmp_path, [chat("a", long)])
        salted = await replay(standin.url, tmp_path, [chat("a", long)], cache_salt="new")
    assert [m.outcomes["a"].reuse for m in (first, again, salted)] == ["cold", "warm", "cold"]


@pytest.mark.parametrize(
    ("reply", "limits", "length"),
    [
        ({"usage": {"completion_tokens": 5}}, {"max_tokens": 9}, 5),
        (None, {"max_tokens": 9}, 9),
        (None, {"max_tokens": None, "max_completion_tokens": 7}, 7),
    ],
)
def test_fixed_lengths_are_the_recorded_ones(tmp_path, reply, limits, length):
    rewriter = Rewriter(spec("http://h", tmp_path, [chat("x")], fix_lengths=True))
    body = json.loads(rewriter.encode(chat("a", reply=reply, **limits)))
    assert (body["min_tokens"], body["max_tokens"], body["ignore_eos"]) == (length, length, True)
    assert "max_completion_tokens" not in body


def test_live_answers_replace_the_turns_that_linked_requests_made():
    turns = (("user", "1"), ("assistant", "old0"), ("user", "2"), ("assistant", "old1"))
    messages = [{"role": role, "content": content} for role, content in turns]
    assert [m["content"] for m in live_messages(messages, ["new"])] == ["1", "old0", "2", "new"]
    assert [m["content"] for m in live_messages(messages, ["n0", "n1"])] == ["1", "n0", "2", "n1"]
    assert messages[1]["content"] == "old0"


@pytest.mark.parametrize("pace", ["recorded", "closed:2"])
async def test_live_turns_send_the_engines_own_answers(tmp_path, pace):
    requests = [chat("a", "First?"), turn("b", "a", "recorded answer")]
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, requests, live_turns=True, pace=pace)
        sent = standin.server.seen[1]["body"]["messages"]
        verbatim = await replay(standin.url, tmp_path, requests, pace=pace)
        recorded = standin.server.seen[3]["body"]["messages"]
    assert sent[1]["content"] == made.outcomes["a"].text != "recorded answer"
    assert recorded[1]["content"] == "recorded answer"
    assert verbatim.end.ok == 2


async def test_a_live_turn_without_its_answer_fails_unsent(tmp_path):
    async with serving() as standin:
        made = await replay(
            standin.url, tmp_path, [chat("a", faults={"status": 500}), turn("b", "a", "old")], live_turns=True
        )
        assert len(standin.server.seen) == 1
    assert made.outcomes["b"].error_kind == "no earlier answer"


@pytest.mark.parametrize("pace", ["recorded", "constant:100", "closed:3"])
async def test_a_turn_is_sent_after_the_answer_it_follows(tmp_path, pace):
    requests = [chat("a", max_tokens=20), turn("b", "a", "old", think_s=0.1), turn("c", "b", "old")]
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, requests, pace=pace)
    a, b, c = (made.outcomes[id] for id in "abc")
    thinking = 0.0 if pace.startswith("closed") else 0.1
    assert b.due_s >= a.due_s + a.e2e_s + thinking
    assert c.due_s >= b.due_s + b.e2e_s
    assert b.status == c.status == "ok"


async def test_a_closed_loop_keeps_its_places_filled_in_file_order(tmp_path):
    async with serving() as standin:
        peak = _watched(standin.server)
        made = await replay(standin.url, tmp_path, [chat(f"r{i:02}") for i in range(12)], pace="closed:3")
        connections = standin.server.connections
    assert peak[0] == 3
    assert connections == 3  # opened before the start, and used again
    starts = [o.sent_s for o in sorted(made.outcomes.values(), key=lambda o: o.id)]
    assert all(b >= a - 0.005 for a, b in pairwise(starts))
    ends = sorted(o.due_s + o.e2e_s for o in made.outcomes.values())
    assert min(o.due_s for o in list(made.outcomes.values())[6:]) >= ends[0]


def _watched(server):
    peak = [0]
    run = server._run

    async def watched(*args):
        peak[0] = max(peak[0], server.engine.running + 1)
        return await run(*args)

    server._run = watched
    return peak


async def test_a_limit_takes_the_first_and_the_header_says_what_ran(tmp_path):
    async with serving() as standin:
        requests = [chat("a"), chat("b"), chat("c")]
        made = await replay(standin.url, tmp_path, requests, limit=2, pace="constant:50", seed=7)
    assert sorted(made.outcomes) == ["a", "b"]
    header = made.header
    assert header["schema"] == "vtune.requests/1" and header["total"] == 2
    assert header["recording"]["name"] == "made" and header["recording"]["synthetic"] is True
    assert header["pace"] == {"mode": "constant", "speed": 1.0, "seed": 7, "rate": 50.0}


async def test_the_key_goes_in_through_an_environment_variable(tmp_path, monkeypatch):
    async with serving("--api-key", "secret") as standin:
        refused = await replay(standin.url, tmp_path, [chat("a")])
        monkeypatch.setenv("MADE_KEY", "secret")
        allowed = await replay(standin.url, tmp_path, [chat("a")], api_key_env="MADE_KEY")
        assert (refused.outcomes["a"].error_kind, allowed.outcomes["a"].status) == ("http 401", "ok")
        assert not any(b"secret" in path.read_bytes() for path in tmp_path.iterdir())
        monkeypatch.delenv("MADE_KEY")
        with pytest.raises(VtuneError, match="MADE_KEY"):
            await replay(standin.url, tmp_path, [chat("a")], api_key_env="MADE_KEY")


async def test_what_cannot_be_replayed_is_refused_before_anything_is_sent(tmp_path):
    async with serving() as standin:
        for wrong in ({"pace": "fast"}, {"speed": 0.0}):
            with pytest.raises(VtuneError) as caught:
                await Replay.start(spec(standin.url, tmp_path, [chat("a")], **wrong))
            assert caught.value.code == Exit.USAGE and caught.value.mend
        with pytest.raises(VtuneError, match="URL"):
            await Replay.start(spec("nonsense", tmp_path, [chat("a")]))
        taken = spec(standin.url, tmp_path, [chat("a")])
        await (await Replay.start(taken)).wait()
        before = open(taken.out_path).read()
        with pytest.raises(VtuneError, match="exists"):
            await Replay.start(taken)
        assert open(taken.out_path).read() == before
        assert len(standin.server.seen) == 1
    assert os.stat(taken.out_path).st_mode & 0o777 == 0o600


async def test_recorded_paths_other_than_chat_are_kept(tmp_path):
    async with serving() as standin:
        request = Request("a", 0.0, "/v1/completions", {"prompt": "x", "max_tokens": 2})
        made = await replay(standin.url + "/v1", tmp_path, [request])
        assert standin.server.seen[0]["path"] == "/v1/completions"
    assert made.outcomes["a"].status == "ok"
