"""The byte scan agrees with the full parse, whatever a server's events look like."""

import json
from time import monotonic_ns

import pytest

from tui.traffic.replay.answer import LATE_NS, Answer
from tui.traffic.replay.learned import Learned
from tui.traffic.replay.like import Shapes
from tui.traffic.replay.parse import parse
from tui.traffic.replay.scan import ContentScan


def chunk(separators=(",", ":"), **choice):
    row = {"id": "c-1", "choices": [{"index": 0, **choice}], "usage": None}
    return b"data: " + json.dumps(row, separators=separators).encode()


SHAPES = {
    "chat": [chunk(delta={"role": "assistant", "content": ""}), *[chunk(delta={"content": " w"})] * 5],
    "blanks": [chunk((", ", ": "), delta={"content": " w"})] * 5,
    "a quote as text": [chunk(delta={"content": '"'})] * 5,
    "a role in every chunk": [chunk(delta={"role": "assistant", "content": "w"})] * 5,
    "completions": [chunk(text=" w", logprobs=None)] * 5,
    "empty text between": [chunk(delta={"content": "w"}), chunk(delta={"content": ""}), chunk(delta={})] * 3,
    "reasoning, then text": [chunk(delta={"reasoning": "r"})] * 3 + [chunk(delta={"content": "w"})] * 3,
    "reasoning beside empty text": [chunk(delta={"content": "w"}), chunk(delta={"content": "", "reasoning": "r"})],
    "text, then a tool call": [chunk(delta={"content": "w"}), chunk(delta={"tool_calls": [{"function": {}}]})],
    "text in parts": [chunk(delta={"content": [{"type": "text", "text": "w"}]})] * 3,
    "the words of a mark as text": [chunk(delta={"content": "w"}), chunk(delta={"x": '"delta":{"content":"w"}'})],
    "usage with the key text": [chunk(delta={"content": "w"}), b'data: {"choices":[],"usage":{"text":"x"}}'],
    "an error": [chunk(delta={"content": "w"}), b'data: {"error":{"message":"no","content":"x"}}'],
    "cut in a mark": [chunk(delta={"content": "w"}), b'data: {"choices":[{"delta":{"content":"'],
    "no JSON": [chunk(delta={"content": "w"}), b"data: [DONE]", b": comment", b"data: {", b"data: 7"],
}


@pytest.mark.parametrize("name", SHAPES)
async def test_it_counts_what_the_parse_counts(name):
    learned = Learned()
    for _ in range(2):  # the second answer meets what the first one taught
        answer = Answer(lambda count: None, learned)
        for number, event in enumerate(SHAPES[name]):
            answer.on_body([event + b"\n\n"], 1000 + number, False)
        parsed = await parse(answer)
        assert answer.chunks == len(parsed.content_ns) > 0 and answer.missed == 0
        assert answer.first == parsed.content_ns[0]


def test_events_of_a_known_shape_are_not_parsed():
    scan = ContentScan()
    assert all(scan.has_content(event) for event in SHAPES["chat"][1:] * 100)
    assert scan.parsed == 1


async def test_a_scan_that_was_wrong_is_counted():
    """A server that puts a key of the same name elsewhere, after the scan has learned the plain shape."""
    learned = Learned()
    answer = Answer(lambda count: None, learned)
    answer.on_body([chunk(text="w") + b"\n\n"], 1, False)
    answer.on_body([b'data: {"choices":[],"note":{"text":"not content"}}\n\n'], 2, False)
    parsed = await parse(answer)
    assert (len(parsed.content_ns), answer.chunks, answer.missed) == (1, 2, 1)


async def test_events_that_share_a_read_or_were_read_late_are_coalesced():
    event = chunk(delta={"content": "w"}) + b"\n\n"
    answer = Answer(lambda count: None)
    now = monotonic_ns()
    answer.on_body([event], now, True)
    answer.on_body([event * 3], now + 1, False)  # three share one time
    answer.on_body([event[:9]], now + 2, False)
    answer.on_body([event[9:]], now + 3, False)  # one event in two reads has the time of its end
    answer.on_body([event], monotonic_ns() - 3 * LATE_NS, True)  # the kernel had it long before
    parsed = await parse(answer)
    assert (len(parsed.content_ns), parsed.coalesced, len(answer.late)) == (6, 4, 1)


WORDS = ["w", " two", 'a "quote"', "back\\slash", "é\u2028", "tab\there", "\x7f", "\U0001f600", "", '{"content":"x"}']
VARIANTS = {
    "chat": [chunk(delta={"content": word}) for word in WORDS],
    "raw text beyond ASCII": [
        b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}' % word.encode()
        for word in ("w", "é", "\u200b", "日本")
    ],
    "a raw tab, which JSON forbids": [b'data: {"choices":[{"delta":{"content":"%s"}}]}' % w for w in (b"w", b"a\tb")],
    "bytes that are no UTF-8": [b'data: {"choices":[{"delta":{"content":"%s"}}]}' % w for w in (b"w", b"\xff")],
    "reasoning": [chunk(delta={"reasoning_content": word}) for word in WORDS],
    "completions": [chunk(text=word) for word in WORDS],
    "with a finish": [chunk(delta={"content": "w"}), chunk(delta={"content": "w"}, finish_reason="stop")],
    "a finish in all": [chunk(delta={"content": word}, finish_reason="length") for word in WORDS],
    "usage in all": [b'data: {"choices":[{"delta":{"content":"w"}}],"usage":{"completion_tokens":%d}}' % n
                     for n in (1, 2, 3)],
    "two choices": [b'data: {"choices":[{"index":1,"text":"a"},{"index":0,"text":"b"}]}'] * 3,
    "the second choice": [b'data: {"choices":[{"index":1,"delta":{"content":"a"}}]}'] * 3,
    "text and a call": [chunk(delta={"content": "w", "tool_calls": [{"index": 0, "function": {"name": "f"}}]})] * 3,
    "a key given twice": [b'data: {"choices":[{"delta":{"content":"%s","content":"b"}}]}' % w for w in (b"a", b"c")],
    "ends as one before": [chunk(delta={"content": "w"}), chunk(delta={"content": "w"})[:-3]],
}  # fmt: skip


def vars_of(parsed):
    return {name: getattr(parsed, name) for name in parsed.__slots__}


@pytest.mark.parametrize("name", [*VARIANTS, *SHAPES])
async def test_reading_alike_events_by_their_text_alone_gives_what_the_parser_gives(name, monkeypatch):
    async def read():
        answer = Answer(lambda count: None)
        events = [*VARIANTS.get(name, ()), *SHAPES.get(name, ())] * 8 + VARIANTS.get(name, [])[:1] * 99
        for number, event in enumerate(events):
            answer.on_body([event + b"\n\n"], 1000 + number, False)
        return await parse(answer)

    def told(parsed):
        return {**vars_of(parsed), "text": "".join(parsed.text), "reasoning": "".join(parsed.reasoning)}

    short = await read()
    monkeypatch.setattr(Shapes, "like", lambda *_: None)
    assert told(short) == told(await read())


async def test_alike_events_are_not_parsed_one_by_one(monkeypatch):
    answer = Answer(lambda count: None)
    for number in range(500):
        answer.on_body([chunk(delta={"content": f" w{number}"}) + b"\n\n"], number, False)
    parsed = []
    real = json.loads
    monkeypatch.setattr(json, "loads", lambda *words: parsed.append(1) or real(*words))
    assert "".join((await parse(answer)).text).endswith(" w498 w499") and len(parsed) < 40


async def test_an_answer_with_another_id_and_time_is_read_by_the_shape_of_the_first(monkeypatch):
    learned, real, parsed = Learned(), json.loads, []
    monkeypatch.setattr(json, "loads", lambda *words: parsed.append(1) or real(*words))
    for number in range(6):
        answer = Answer(lambda count: None, learned)
        for word in (b"w", rb" \"two\"", rb"\n\u00e9", b" four") * 5:
            row = b'data: {"id":"c-%d","created":%d,"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
            answer.on_body([row % (number, 1700000000 + number, word)], number, False)
        told = await parse(answer)
        assert "".join(told.text) == 'w "two"\n\u00e9 four' * 5
        assert (answer.chunks, len(told.content_ns), answer.missed) == (20, 20, 0)
    assert len(parsed) < 12


async def test_pieces_that_are_no_events_are_read_all_the_same():
    """A proxy in between cuts where it likes."""
    whole = b"".join(chunk(delta={"content": f" w{n}"}) + b"\n\n" for n in range(60)) + b"data: [DONE]\n\n"
    for size in (1, 7, 100, 101, 1000, len(whole)):
        answer = Answer(lambda count: None)
        for start in range(0, len(whole), size):
            answer.on_body([whole[start : start + size]], start, False)
        told = await parse(answer)
        assert "".join(told.text) == "".join(f" w{n}" for n in range(60)) and told.done
        assert (answer.chunks, len(told.content_ns), answer.missed) == (60, 60, 0)
