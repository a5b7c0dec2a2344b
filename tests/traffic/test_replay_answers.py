"""What a replay makes of answers, sound and crooked, by way of the whole child process."""

import asyncio

import pytest
from replaying import chat, replay
from standin.fixture import serving

from tui.traffic.recording import Request

SPECULATION = ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}')
METRICS = ("--per-request-spec-decode-metrics", "summary")


async def test_a_sound_answer_has_its_times_tokens_and_engine_numbers(tmp_path):
    async with serving(*SPECULATION, *METRICS, env={"STANDIN_STEP_MS": "20"}) as standin:
        asked = chat("a", "Copy this as JSON, all of it, please", max_tokens=24, ignore_eos=True, group="extract")
        made = await replay(standin.url, tmp_path, [asked])
    a = made.outcomes["a"]
    assert (a.status, a.group, a.http_status, a.finish_reason) == ("ok", "extract", 200, "length")
    assert (a.output_tokens, a.cached_tokens, a.reuse) == (24, 0, "cold")
    assert a.due_s == 0 <= a.sent_s < a.sent_s + 1e-9 < a.ttft_s < a.e2e_s
    assert 0 < a.chunks < 24 and len(a.itl_s) == a.chunks - 1
    assert sum(a.itl_s) == pytest.approx(a.decode_s, abs=1e-6)
    assert a.tpot_s == pytest.approx(a.decode_s / 23)
    assert a.server_prefill_s > 0 and a.server_decode_s > 0 and a.server_queue_s >= 0
    assert 0 < a.accepted_tokens <= a.draft_tokens == 4 * a.drafts
    assert sum(a.acceptance_histogram) == a.drafts
    assert sum(j * steps for j, steps in enumerate(a.acceptance_histogram)) == a.accepted_tokens
    assert a.text and len(a.text_sha256) == 64


async def test_a_connection_is_opened_before_its_request_is_due(tmp_path):
    """Seen in one of three: a machine that is busy elsewhere may come late to the others."""
    asked = [chat(f"r{n}", at=n * 0.3, faults={"close_delimited": True}) for n in range(3)]  # never used again
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, asked)
        assert standin.server.connections == 3
    assert min(o.connect_s for o in made.outcomes.values()) == 0.0


async def test_what_the_wire_may_do_does_not_change_what_is_counted(tmp_path):
    plain = chat("plain", max_tokens=12)
    ways = {
        "comments": {"comments": 3},
        "crlf": {"crlf": True},
        "bytes": {"byte_by_byte": True},
        "spaced": {"spaced": True},
        "one-write": {"one_write": True},
        "trailers": {"trailers": True},
        "interim": {"interim": True},
        "until-close": {"close_delimited": True},
        "closes": {"close_after": True},
        "slow-head": {"slow_headers_s": 0.05},
    }
    async with serving("--no-enable-prefix-caching", env={"STANDIN_STEP_MS": "20"}) as standin:
        crooked = [chat(name, max_tokens=12, faults=faults) for name, faults in ways.items()]
        made = await replay(standin.url, tmp_path, [plain, *crooked])
    expected = made.outcomes["plain"]
    for name in ways:
        got = made.outcomes[name]
        assert (got.status, got.error) == ("ok", None), name
        assert (got.text, got.chunks, got.output_tokens) == (expected.text, 12, 12), name
    # Of events that came in one read all are marked: their times are upper bounds.
    assert made.outcomes["one-write"].coalesced == 12
    assert expected.coalesced < 12
    assert made.end.fidelity["coalesced_events"] >= 12
    assert made.end.fidelity["scan_mismatches"] == 0


async def test_characters_cut_in_the_middle_and_odd_separators_stay_whole(tmp_path):
    text = "日本語 naïve\u2028line\u0085next \U0001f600 end"
    async with serving() as standin:
        made = await replay(
            standin.url,
            tmp_path,
            [
                chat("cut", faults={"text": text, "split_utf8": True}, max_tokens=99),
                chat("bytes", faults={"text": text, "byte_by_byte": True}, max_tokens=99),
            ],
        )
    assert [o.text for o in made.outcomes.values()] == [text, text]
    assert made.outcomes["cut"].text_sha256 == made.outcomes["bytes"].text_sha256


async def test_a_role_chunk_is_not_a_first_token(tmp_path):
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, [chat("a", faults={"role_lead_s": 0.3})])
    assert made.outcomes["a"].ttft_s > 0.3


async def test_several_tokens_in_a_chunk_do_not_distort_tpot(tmp_path):
    async with serving(env={"STANDIN_STEP_MS": "10"}) as standin:
        long = {"max_tokens": 33, "ignore_eos": True}
        made = await replay(
            standin.url, tmp_path, [chat("one", **long), chat("four", faults={"tokens_per_chunk": 4}, **long)]
        )
    one, four = made.outcomes["one"], made.outcomes["four"]
    assert (one.output_tokens, four.output_tokens) == (33, 33)
    assert four.chunks < one.chunks / 3
    assert four.tpot_s == pytest.approx(one.tpot_s, rel=0.5)


@pytest.mark.parametrize("faults", [{"reasoning": 99}, {"tool_call": True}])
async def test_reasoning_and_tool_calls_are_content_too(tmp_path, faults):
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, [chat("a", faults=faults)])
    a = made.outcomes["a"]
    assert a.status == "ok" and a.text == "" and a.chunks == 8 and a.ttft_s
    if "reasoning" in faults:
        assert a.reasoning
    else:
        assert '"name": "look_up"' in a.tool_calls


async def test_plain_completions_are_streamed_too(tmp_path):
    async with serving() as standin:
        body = {"model": "m", "prompt": "Say it", "max_tokens": 8, "ignore_eos": True}
        made = await replay(standin.url, tmp_path, [Request("a", 0.0, "/v1/completions", body)])
        sent = standin.server.seen[0]["body"]
    a = made.outcomes["a"]
    assert a.status == "ok" and a.text and a.chunks == 8 and a.output_tokens == 8 and a.ttft_s
    assert sent["stream"] is True and sent["stream_options"] == {"include_usage": True}
    assert made.header["made_streaming"] == 1


FAILURES = {
    "bad": ({"status": 400}, "context too long", "maximum context length"),
    "broken": ({"status": 500}, "http 500", "made to fail"),
    "error": ({"error_after": 3}, "stream error", "EngineCore encountered an issue"),
    "cut": ({"cut_after": 3}, "cut short", ""),
    "unended": ({"no_done": True}, "cut short", "without [DONE]"),
    "unended-close": ({"no_done": True, "close_delimited": True}, "cut short", "without [DONE]"),
    "dropped": ({"drop_request": True}, "connection", ""),
    "hangs": ({"hang_after": 2}, "timeout", "within"),
    "silent": ({"hang_after": 0}, "timeout", "within"),
}


async def test_failures_have_a_kind_and_the_servers_own_words(tmp_path):
    requests = [chat(name, faults=faults) for name, (faults, _, _) in FAILURES.items()]
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, [*requests, chat("fine")], timeout_s=1.5)
    for name, (_, kind, words) in FAILURES.items():
        got = made.outcomes[name]
        assert (got.status, got.error_kind) == ("failed", kind), name
        assert words in (got.error or "") and "\n" not in (got.error or ""), name
        assert got.text_sha256 is None, name
    assert made.outcomes["fine"].status == "ok"
    assert (made.end.kind, made.end.ok, made.end.failed) == ("done", 1, len(FAILURES))
    for name, chunks in (("error", 3), ("cut", 3), ("hangs", 2)):  # what had come is kept
        assert made.outcomes[name].chunks == chunks and made.outcomes[name].ttft_s, name
    assert (made.outcomes["silent"].chunks, made.outcomes["silent"].ttft_s) == (0, None)


async def test_a_dead_server_fails_every_request_and_ends(tmp_path):
    async with serving() as standin:
        url = standin.url
    made = await replay(url, tmp_path, [chat("a"), chat("b", at=0.1)])
    assert {o.error_kind for o in made.outcomes.values()} == {"connection"}
    assert "refused" in made.outcomes["a"].error.lower()
    assert made.outcomes["a"].sent_s is None and made.outcomes["a"].connect_s is None


async def test_a_page_in_place_of_an_answer_is_named(tmp_path):
    async def page(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<p>Not here</p>")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(page, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        made = await replay(url, tmp_path, [chat("a")])
    a = made.outcomes["a"]
    assert (a.status, a.error_kind) == ("failed", "protocol") and "text/html" in a.error


async def test_an_answer_that_is_not_a_stream_is_read_whole_without_a_first_token(tmp_path):
    async with serving() as standin:
        standin.server._generate = _never_streams(standin.server._generate)
        made = await replay(standin.url, tmp_path, [chat("a")])
    a = made.outcomes["a"]
    assert a.status == "ok" and a.text and a.output_tokens == 8
    assert a.ttft_s is None and a.e2e_s > 0


def _never_streams(generate):
    async def plain(asked, reader, writer):
        asked.raw = asked.raw.replace(b'"stream":true', b'"stream":false')
        return await generate(asked, reader, writer)

    return plain


async def test_a_connection_closed_before_it_was_used_again_is_retried(tmp_path):
    """The server closes after each answer without having said so; the next request finds out only when it writes."""
    faults = {"close_after": True}
    async with serving() as standin:
        made = await replay(standin.url, tmp_path, [chat(f"r{i}", faults=faults) for i in range(6)], pace="closed:1")
    assert {o.status for o in made.outcomes.values()} == {"ok"}


async def test_no_text_is_kept_unless_asked_but_its_hash_is(tmp_path):
    async with serving() as standin:
        with_text = await replay(standin.url, tmp_path, [chat("a")])
        without = await replay(standin.url, tmp_path, [chat("a")], keep_text=False)
    assert without.outcomes["a"].text is None
    assert without.outcomes["a"].text_sha256 == with_text.outcomes["a"].text_sha256


async def test_unknown_is_not_zero(tmp_path):
    async with serving("--no-enable-prompt-tokens-details", "--no-enable-per-request-metrics") as standin:
        made = await replay(standin.url, tmp_path, [chat("a"), chat("b", faults={"no_usage": True})])
    a, b = made.outcomes["a"], made.outcomes["b"]
    assert (a.cached_tokens, a.reuse, a.server_queue_s, a.drafts) == (None, "unknown", None, None)
    assert (b.prompt_tokens, b.output_tokens, b.tpot_s) == (None, None, None)
    assert b.status == "ok" and b.ttft_s
