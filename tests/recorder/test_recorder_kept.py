"""What stands in the recording, and what must not."""

import asyncio
import gzip
import json
import os
import stat
import zlib

import pytest
from standin.fixture import serving
from standin.simulated import rendered, tokenize
from traffic_replay import replayed
from upstreams import chat, head_and_body, payload, post, recording, rows, talk, upstream

from tui.traffic.recording import load


@pytest.fixture
def out(tmp_path):
    return tmp_path / "made.jsonl"


def answering(answer, head=b"Content-Type: application/json\r\n"):
    async def serve(reader, writer):
        while True:
            await head_and_body(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n" + head + b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
            await writer.drain()

    return serve


WHOLE = json.dumps({
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
}).encode()  # fmt: skip


async def test_the_body_as_sent_without_who_sent_it(out):
    body = chat(
        "What is é and \u2028?", user="somebody", metadata={"team": "somewhere"}, extra_headers={"X-Key": "hidden-key"},
        cache_salt="salt", tools=[{"type": "function"}], documents=[{"text": "d"}], chat_template_kwargs={"a": 1.5},
    )  # fmt: skip
    async with serving() as standin, recording(standin.url, out) as proxy:
        headers = ("Authorization: Bearer secret-of-mine", "Cookie: c=secret-cookie", "X-Team: my-team")
        await talk(proxy.port, post(body, "/v1/chat/completions?api_key=secret-query", *headers))
        assert standin.server.seen[0]["body"]["user"] == "somebody"  # what passes is not touched
        assert standin.server.seen[0]["query"] == {"api_key": ["secret-query"]}
        await proxy.end()
    row = rows(out)[0]
    removed = ("user", "metadata", "extra_headers")
    assert row["body"] == {key: value for key, value in body.items() if key not in removed}
    assert list(row["body"]) == [key for key in body if key not in removed]
    assert row["redacted"] == list(removed) and row["path"] == "/v1/chat/completions" and row["at"] == 0
    text = out.read_text()
    for secret in ("secret", "somebody", "somewhere", "hidden-key", "my-team", "uthorization"):
        assert secret not in text
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


async def test_a_key_that_stands_in_the_body_too_is_not_written(out):
    async with serving() as standin, recording(standin.url, out) as proxy:
        body = chat("my key is sesame-open-now, keep it")
        await talk(proxy.port, post(body, "/v1/chat/completions", "Authorization: Bearer sesame-open-now"))
        recorded = await proxy.end()
    assert rows(out)[0]["body"]["messages"][0]["content"] == "my key is xxxxxxxxxxxxxxx, keep it"
    assert any("own request's key" in note for note in recorded.notes)


KEY = "sk-0123456789abcdefghij"


@pytest.mark.parametrize("mask", [False, True])
async def test_text_that_looks_like_a_key_is_told_and_masked_on_request(out, mask):
    async with serving() as standin, recording(standin.url, out, mask_secrets=mask) as proxy:
        await talk(proxy.port, post(chat(f"use {KEY} please")))
        assert standin.server.seen[0]["body"]["messages"][0]["content"] == f"use {KEY} please"
        recorded = await proxy.end()
    text = rows(out)[0]["body"]["messages"][0]["content"]
    assert text == f"use {'x' * len(KEY) if mask else KEY} please"
    assert any("key" in note and ("masked" in note if mask else "--mask-secrets" in note) for note in recorded.notes)


async def test_times_and_hash_are_those_that_a_replay_of_it_finds(out, tmp_path):
    env = {"STANDIN_BASE_MS": "60", "STANDIN_STEP_MS": "5"}
    async with serving(env=env) as standin:
        async with recording(standin.url, out) as proxy:
            for words in ("one", "two three"):
                await talk(proxy.port, post(chat(words, stream_options={"include_usage": True})))
            await talk(proxy.port, post({"prompt": "plain", "max_tokens": 5}, "/v1/completions"))
            await talk(proxy.port, post(chat("tool", standin={"tool_call": True, "reasoning": 2})))
            await proxy.end()
        first = [seen["body"] for seen in standin.server.seen]
        standin.server.seen.clear()
        outcomes = await replayed(standin.url, out, tmp_path / "run.jsonl")
        again = [seen["body"] for seen in standin.server.seen]
    kept = load(out).requests
    assert len(kept) == 4
    for request, sent, replay in zip(kept, first, again, strict=True):
        assert {**replay, "stream": 0, "stream_options": 0} == {**sent, "stream": 0, "stream_options": 0}
        outcome = outcomes[request.id]
        assert outcome.status == "ok" and request.reply["text_sha256"] == outcome.text_sha256
        assert request.reply["usage"]["prompt_tokens"] == outcome.prompt_tokens
    for request in (kept[0], kept[1], kept[3]):
        assert 0.06 <= request.reply["ttft_s"] < request.reply["e2e_s"]
        assert request.reply["e2e_s"] - request.reply["ttft_s"] >= 0.005
    assert kept[2].reply["ttft_s"] is None and kept[2].reply["e2e_s"] >= 0.06  # it came whole
    assert kept[0].reply["usage"]["completion_tokens"] == outcomes[kept[0].id].output_tokens


async def test_usage_from_the_answer_with_what_was_cached(out):
    async with upstream(answering(WHOLE)) as url, recording(url, out) as proxy:
        await talk(proxy.port, post(chat("hi", stream=False)))
        await proxy.end()
    reply = rows(out)[0]["reply"]
    assert reply["usage"] == {
        "prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}
    }  # fmt: skip
    assert reply["status"] == 200 and "usage_from" not in reply


async def test_usage_is_counted_at_the_end_where_the_answer_has_none(out):
    async with serving() as standin, recording(standin.url, out) as proxy:
        for body in (chat("one two three"), chat("x", stream_options={"include_usage": True})):
            await talk(proxy.port, post(body))
        await talk(proxy.port, post({"prompt": [5, 6, 7], "stream": True}, "/v1/completions"))
        recorded = await proxy.end()
    asked, told, ids = (row["reply"] for row in rows(out))
    counted = len(tokenize(rendered(chat("one two three"))))
    assert asked["usage"] == {"prompt_tokens": counted} and asked["usage_from"] == "tokenize"
    assert told["usage"]["completion_tokens"] == 8 and "usage_from" not in told
    assert ids["usage"] == {"prompt_tokens": 3}
    assert "2 had their prompt tokens counted by the upstream's /tokenize" in recorded.notes


async def test_without_tokenize_usage_stays_unknown_and_it_is_said(out):
    event = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

    async def serve(reader, writer):
        while True:
            head, _ = await head_and_body(reader)
            if "/tokenize" in head:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                writer.write(head + b"Content-Length: %d\r\n\r\n%s" % (len(event), event))

    async with upstream(serve) as url, recording(url, out) as proxy:
        await talk(proxy.port, post(chat("hi")))
        recorded = await proxy.end()
    reply = rows(out)[0]["reply"]
    assert reply["usage"] is None and reply["text_sha256"]
    assert any("no /tokenize" in note for note in recorded.notes)


async def test_a_compressed_answer_is_passed_compressed_and_read(out):
    packed = gzip.compress(WHOLE)
    head = b"Content-Type: application/json\r\nContent-Encoding: gzip\r\n"
    async with upstream(answering(packed, head)) as url, recording(url, out) as proxy:
        got = await talk(proxy.port, post(chat("hi", stream=False)))
        assert got.endswith(packed)
        await proxy.end()
    assert rows(out)[0]["reply"]["usage"]["prompt_tokens"] == 7


async def conversation(proxy, *words, **more):
    """Ask; the answer's text."""
    answer = await talk(proxy.port, post(chat(*words, stream=False, **more)))
    return payload(answer)["choices"][0]["message"]["content"]


async def test_turns_that_carry_an_answer_follow_it(out):
    async with serving() as standin, recording(standin.url, out) as proxy:
        first = await conversation(proxy, "tell me")
        await conversation(proxy, "something else")
        await asyncio.sleep(0.05)
        second = await conversation(proxy, "tell me", f"  {first}\n", "and then?")
        await conversation(proxy, "tell me", first, "and then?", second, "and?")
        await conversation(proxy, "tell me", "not what was answered", "and then?")
        await conversation(proxy, "tell me", first, "or rather?")  # a fork
        recorded = await proxy.end()
    kept = load(out).requests
    assert [request.after for request in kept] == [None, None, kept[0].id, kept[2].id, None, kept[0].id]
    assert 0.05 < kept[2].think_s < 5
    assert "3 carry on a conversation" in recorded.notes


async def test_what_came_before_an_answer_ended_does_not_follow_it(out):
    """Two equal questions: the second one's turn is already on its way when the first is still being answered."""
    async with serving() as standin, recording(standin.url, out) as proxy:
        text = "fixed words"
        slow = asyncio.ensure_future(
            conversation(proxy, "tell me", standin={"text": text, "slow_headers_s": 0.3})
        )
        await asyncio.sleep(0.1)
        await conversation(proxy, "tell me", text, "and?")
        await slow
        await proxy.end()
    kept = load(out).requests
    assert [len(request.body["messages"]) for request in kept] == [1, 3]  # by arrival, not by end
    assert [request.after for request in kept] == [None, None] and kept[0].at == 0 < kept[1].at


async def test_every_request_is_kept_or_counted_with_its_reason(out):
    async with serving() as standin, recording(standin.url, out) as proxy:
        await talk(proxy.port, b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
        await talk(proxy.port, post({"query": "x"}, "/v1/rerank"))
        await talk(proxy.port, post(chat("hi")))
        packed = zlib.compress(b"{}")
        await talk(proxy.port, post(packed, "/v1/completions", "Content-Encoding: deflate"))
        recorded = await proxy.end()
    assert recorded.passed == 4 and recorded.kept == 1
    assert recorded.skipped == {
        "not a POST": 1, "not a chat, completion or embeddings call: /v1/rerank": 1, "a compressed body: deflate": 1
    }  # fmt: skip


async def test_calls_for_embeddings_are_kept_without_what_they_have_not(out):
    answer = {"object": "list", "data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 3, "total_tokens": 3}}
    async with upstream(answering(json.dumps(answer).encode())) as url, recording(url, out) as proxy:
        sent = {"model": "e", "input": ["some words"], "user": "somebody"}
        await talk(proxy.port, post(sent, "/v1/embeddings"))
        recorded = await proxy.end()
    [row] = rows(out)
    assert recorded.kept == 1 and not recorded.skipped
    assert (row["path"], row["body"], row["redacted"]) == (
        "/v1/embeddings", {"model": "e", "input": ["some words"]}, ["user"]
    )  # fmt: skip
    assert row["reply"]["usage"] == {"prompt_tokens": 3} and row["reply"]["status"] == 200
    assert row["reply"].get("ttft_s") is None and row["reply"].get("text_sha256") is None
    assert 0 < row["reply"]["e2e_s"] < 30 and "ended" not in row["reply"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"hello", "not JSON"), (b"[1]", "no JSON object"), (b'{"prompt": 1e999}', "not JSON"),
     (b'{"prompt": "\\ud800"}', "surrogate"), (b"[" * 100_000, "not JSON"), (b"", "not JSON")],
    ids=["text", "array", "infinity", "surrogate", "nested", "empty"],
)  # fmt: skip
async def test_bodies_that_cannot_be_kept_pass_all_the_same(out, body, reason):
    seen = []

    async def serve(reader, writer):
        seen.append((await head_and_body(reader))[1])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    async with upstream(serve) as url, recording(url, out) as proxy:
        assert (await talk(proxy.port, post(body, "/v1/completions"))).endswith(b"{}")
        recorded = await proxy.end()
    assert seen == [body] and recorded.kept == 0
    assert reason in next(iter(recorded.skipped))
    assert not os.path.exists(out)  # no recording without requests


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
async def test_a_suffix_asks_for_compression(tmp_path, suffix):
    out = tmp_path / f"made.jsonl{suffix}"
    async with serving() as standin, recording(standin.url, out) as proxy:
        await talk(proxy.port, post(chat("hi")))
        await proxy.end()
    assert not out.read_bytes().startswith(b"{") and stat.S_IMODE(out.stat().st_mode) == 0o600
    assert load(out).requests[0].body["messages"][0]["content"] == "hi"
